#pragma once
// Changes to a source, collected first and applied in one pass. Not for others than this folder.
#include <string>
#include <string_view>
#include <vector>

#include "emulator/translate/declarations.hpp"
#include "emulator/translate/token_walk.hpp"

namespace lockstep::translate {

// Replaces `length` bytes from `begin` on.
struct Edit {
  std::size_t begin = 0;
  std::size_t length = 0;
  std::string text;
};

using Edits = std::vector<Edit>;

// What the finders of things to change are given.
struct Subject {
  std::string_view source;
  std::string_view file;
  const KernelNames& kernels;
};

// For launches with <<<>>> in `stream`. Throws FormatError.
void find_launches(const Subject& subject, const Stream& stream, Edits& edits);

// For `extern __shared__` arrays in `stream`. Throws FormatError.
void find_shared_arrays(const Subject& subject, const Stream& stream, Edits& edits);

}  // namespace lockstep::translate
