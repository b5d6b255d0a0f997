#pragma once
/// @file
/// Reads TensorBoard's event files. Shares no code with their writer.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::test {

/// CRC-32C as a division of polynomials, bit by bit: the textbook's form, most significant bit first.
inline std::uint32_t crc32c(const std::string& bytes) {
  const auto reflected = [](std::uint32_t value, int bits) {
    std::uint32_t result = 0;
    for (int bit = 0; bit < bits; ++bit) result |= (value >> bit & 1) << (bits - 1 - bit);
    return result;
  };
  std::uint32_t rest = 0xFFFFFFFF;
  for (const char c : bytes) {
    rest ^= reflected(static_cast<unsigned char>(c), 8) << 24;
    for (int bit = 0; bit < 8; ++bit) rest = (rest & 0x80000000) != 0 ? rest << 1 ^ 0x1EDC6F41 : rest << 1;
  }
  return reflected(rest, 32) ^ 0xFFFFFFFF;
}

/// Takes bytes from the beginning of `bytes`. @throws FormatError  There are fewer.
inline std::string take_bytes(std::string& bytes, std::uint64_t count) {
  if (bytes.size() < count) throw FormatError("the bytes end early");
  const std::string taken = bytes.substr(0, count);
  bytes.erase(0, count);
  return taken;
}

/// The same for a number, in the order of this machine, which is little-endian.
template <typename T>
T take(std::string& bytes) {
  T value;
  std::memcpy(&value, take_bytes(bytes, sizeof(T)).data(), sizeof(T));
  return value;
}

/// A protocol buffer without its schema: of each field, the bytes of its values; a varint as decimal digits.
using Fields = std::multimap<std::uint64_t, std::string>;

inline std::uint64_t take_varint(std::string& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<std::uint8_t>(bytes);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
}

/// @throws FormatError  Not a protocol buffer.
inline Fields fields_of(std::string message) {
  Fields fields;
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    std::string value;
    switch (key & 7) {
      case 0:
        value = std::to_string(take_varint(message));
        break;
      case 1:
        value = take_bytes(message, 8);
        break;
      case 2:
        value = take_bytes(message, take_varint(message));
        break;
      case 5:
        value = take_bytes(message, 4);
        break;
      default:
        throw FormatError("no wire type of proto3");
    }
    fields.emplace(key >> 3, value);
  }
  return fields;
}

/// A field's value as a number.
template <typename T>
T number_in(const Fields& fields, std::uint64_t field) {
  std::string bytes = fields.find(field)->second;
  return take<T>(bytes);
}

/// The data of a file's records. @throws FormatError  A checksum is wrong, or the file ends in the middle of a record.
inline std::vector<std::string> records_of(std::string file) {
  const auto require_checksum = [&file](const std::string& bytes) {
    const std::uint32_t crc = crc32c(bytes);
    if (take<std::uint32_t>(file) != ((crc >> 15) | (crc << 17)) + 0xa282ead8) throw FormatError("a wrong checksum");
  };
  std::vector<std::string> records;
  while (!file.empty()) {
    std::string length = take_bytes(file, 8);
    require_checksum(length);
    records.push_back(take_bytes(file, take<std::uint64_t>(length)));
    require_checksum(records.back());
  }
  return records;
}

/// Values by step and tag.
using EventScalars = std::map<std::int64_t, std::map<std::string, float>>;

/// The values that TensorBoard shows for a folder: its files in the order of their names, without the steps that a
/// later session has begun anew. @throws FormatError  As records_of(), or a file does not begin with its version.
inline EventScalars read_event_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) paths.push_back(entry.path());
  std::ranges::sort(paths);
  EventScalars shown;
  for (const auto& path : paths) {
    const std::vector<std::string> records = records_of(read_file(path));
    if (!records.empty() && fields_of(records.front()).find(3)->second != "brain.Event:2")
      throw FormatError(path.string() + " has no version");
    for (const std::string& record : records) {
      const Fields event = fields_of(record);
      if (!event.contains(2)) continue;
      const std::int64_t step = std::stoll(event.find(2)->second);
      if (event.contains(7)) shown.erase(shown.lower_bound(step), shown.end());
      if (!event.contains(5)) continue;
      for (const auto& [number, value] : fields_of(event.find(5)->second)) {
        const Fields scalar = fields_of(value);
        shown[step][scalar.find(1)->second] = number_in<float>(scalar, 2);
      }
    }
  }
  return shown;
}

}  // namespace lockstep::test
