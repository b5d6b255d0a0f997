// Every fuzz target over its seeds, its committed inputs, and small damage to both: runs on every machine.
#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "base/text.hpp"
#include "fuzz/targets.hpp"
#include "net/bytes.hpp"
#include "support/catch.hpp"

using namespace lockstep;
namespace fs = std::filesystem;

namespace {

using Bytes = std::vector<std::byte>;

std::vector<Bytes> inputs_of(const fuzz::Target& target) {
  std::vector<Bytes> inputs = target.seeds();
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(LOCKSTEP_FUZZ_CORPUS) / target.name)) files.insert(entry);
  for (const fs::path& file : files) {
    const std::string text = read_file(file);
    const auto bytes = net::as_bytes(text);
    inputs.emplace_back(bytes.begin(), bytes.end());
  }
  return inputs;
}

// The target's report on one input; empty: none.
std::string finding_in(const fuzz::Target& target, const Bytes& input) {
  try {
    target.run(input);
  } catch (const std::exception& error) {
    return concat(error.what(), " for \"", net::printable(input), "\" (", input.size(), " bytes)");
  }
  return "";
}

// The input cut off at many places, and with single bytes changed.
std::string finding_near(const fuzz::Target& target, const Bytes& input) {
  const std::size_t step = 1 + input.size() / 200;  // 1: at least every byte of a short input
  for (std::size_t at = 0; at < input.size(); at += step) {
    std::string finding = finding_in(target, Bytes(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(at)));
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      Bytes damaged = input;
      damaged[at] ^= static_cast<std::byte>(flip);
      if (finding.empty()) finding = finding_in(target, damaged);
    }
    if (!finding.empty()) return finding;
  }
  return "";
}

}  // namespace

TEST_CASE("no parser has a finding in its seeds, its committed inputs, or near them", "[fuzz]") {
  for (const fuzz::Target& target : fuzz::targets()) {
    CAPTURE(target.name);
    const std::vector<Bytes> inputs = inputs_of(target);
    CHECK(inputs.size() > target.seeds().size());  // the committed ones are there
    for (const Bytes& input : inputs) {
      CHECK(finding_in(target, input).empty());
      CHECK(finding_near(target, input).empty());
    }
  }
}
