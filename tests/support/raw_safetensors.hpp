#pragma once
/// @file
/// Safetensors files written byte by byte, sharing no code with the reader.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace lockstep::test {

/// A tensor as stored in the file.
struct RawTensor {
  std::string name, type;  // "w", "F16"
  std::string shape;       // "[2,3]"
  std::string data;        // its size must match type and shape
};

/// The elements as bytes.
template <typename T>
std::string bytes_from(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// A tensor's entry in a file's header.
struct RawEntry {
  std::string name, type, shape;
  std::uint64_t bytes = 0;
};
inline std::string raw_header(const std::vector<RawEntry>& entries) {
  std::string header;
  std::uint64_t begin = 0;
  for (const RawEntry& entry : entries) {
    header += concat(header.empty() ? "{" : ",", '"', entry.name, R"(":{"dtype":")", entry.type, R"(","shape":)",
                     entry.shape, R"(,"data_offsets":[)", begin, ',', begin + entry.bytes, "]}");
    begin += entry.bytes;
  }
  header += "}";
  std::string length(8, '\0');
  const std::uint64_t header_bytes = header.size();
  std::memcpy(length.data(), &header_bytes, 8);
  return length + header;
}

inline void write_raw(const std::filesystem::path& path, const std::vector<RawTensor>& tensors) {
  std::vector<RawEntry> entries;
  std::string data;
  for (const RawTensor& tensor : tensors) {
    entries.push_back({tensor.name, tensor.type, tensor.shape, tensor.data.size()});
    data += tensor.data;
  }
  write_file(path, raw_header(entries) + data);
}

}  // namespace lockstep::test
