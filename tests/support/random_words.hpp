#pragma once
/// @file
/// A text from which a model can learn within a few steps.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/philox.hpp"

namespace lockstep::test {

/// Writes `count` words of a small vocabulary in random order, the same on each call.
inline void write_words(const std::filesystem::path& path, int count) {
  const std::vector<std::string> words{"ring ", "rank ", "chunk ", "bucket ", "step ", "lock ", "all ", "reduce "};
  PhiloxSequence random(17);
  std::ofstream file(path);
  for (int i = 0; i < count; ++i) file << words[random.next_below(words.size())];
}

}  // namespace lockstep::test
