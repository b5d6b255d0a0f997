#include "base/json_lines.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"

namespace lockstep {

namespace {

// Replaces NaN and infinities outside strings, which JSON lacks, by null.
std::string without_infinities(std::string_view line) {
  constexpr std::array<std::string_view, 3> kWords{"-Infinity", "Infinity", "NaN"};
  std::string out;
  bool is_in_string = false;
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    std::string_view word;
    if (!is_in_string)
      for (const std::string_view known : kWords)
        if (word.empty() && rest.starts_with(known)) word = known;
    if (!word.empty()) {
      out += "null";
      at += word.size();
      continue;
    }
    if (rest.front() == '"') is_in_string = !is_in_string;
    const std::size_t taken = is_in_string && rest.front() == '\\' && rest.size() > 1 ? 2 : 1;
    out += rest.substr(0, taken);
    at += taken;
  }
  return out;
}

std::string_view without_zeros(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of('\0'), line.size());
  line.remove_prefix(begin);
  return line.substr(0, line.find_last_not_of('\0') + 1);  // + 1: npos becomes 0
}

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// Describes the error in the line, if there is one.
std::optional<std::string> take_line(std::string_view line, const UseJsonLine& use) {
  try {
    nlohmann::json value;
    try {
      value = parse_json(line);
    } catch (const nlohmann::json::exception&) {
      value = parse_json(without_infinities(line));
    }
    use(value, line);
    return std::nullopt;
  } catch (const FormatError& error) {
    return error.what();
  } catch (const nlohmann::json::exception& error) {
    return error.what();
  }
}

}  // namespace

void for_each_json_line(const std::filesystem::path& path, const UseJsonLine& use) {
  const std::string text = read_file(path);
  std::size_t number = 0, unreadable = 0;
  std::string first;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const bool is_cut_off = end == std::string::npos;
    const std::string_view whole = std::string_view(text).substr(begin, is_cut_off ? end : end - begin);
    begin = is_cut_off ? text.size() : end + 1;
    ++number;
    if (is_blank(whole)) continue;
    const std::optional<std::string> problem = take_line(without_zeros(whole), use);
    if (!problem || is_cut_off) continue;
    if (++unreadable == 1) first = concat("line ", number, ": ", *problem);
  }
  if (unreadable == 0) return;
  Logger().warning(concat(path.string(), ": ", unreadable, " of ", number,
                          unreadable == 1 ? " lines cannot be read and is left out: "
                                          : " lines cannot be read and are left out; the first is ",
                          first));
}

}  // namespace lockstep
