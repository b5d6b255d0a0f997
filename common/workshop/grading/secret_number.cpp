#include "grading/secret_number.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "grading/private_files.hpp"

namespace lockstep::grading {

std::uint64_t secret_number(std::string_view key, std::string_view name) {
  const auto code = hmac_sha256(key, name);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8U | code[i];
  return number & ((std::uint64_t{1} << 53U) - 1);
}

std::map<std::string, std::uint64_t> seeds_from_key(std::string_view key, const std::vector<std::string>& exercises) {
  std::map<std::string, std::uint64_t> seeds;
  for (const std::string& id : exercises) seeds[id] = secret_number(key, concat("lockstep grade ", id));
  return seeds;
}

std::map<std::string, std::uint64_t> seeds_from_file(const std::filesystem::path& path,
                                                     const std::vector<std::string>& exercises) {
  const std::string text = read_secret(path);
  std::map<std::string, std::uint64_t> seeds;
  try {
    seeds = parse_json(text).get<std::map<std::string, std::uint64_t>>();
  } catch (const nlohmann::json::exception&) {  // its message would show a part of the secret
    throw FormatError(concat(path.string(), " is no JSON object of numbers, such as {\"02.1\": 4711}"));
  }
  std::string missing;
  for (const std::string& id : exercises)
    if (!seeds.contains(id)) missing += concat(missing.empty() ? "" : ", ", id);
  if (missing.empty()) return seeds;
  throw UsageError(concat(path.string(), " has no seed for ", missing,
                          ": students know the inputs that would be used instead. Add a seed for each, or choose the "
                          "exercises to grade with --only"));
}

}  // namespace lockstep::grading
