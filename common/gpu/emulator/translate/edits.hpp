#pragma once
// Changes to a source, collected first and applied in one pass. Internal to this folder.
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

// The input of the functions that find edits.
struct Subject {
  std::string_view source;
  std::string_view file;
  const KernelNames& kernels;
};

// Adds edits for launches with <<<>>> in `stream`. Throws FormatError.
void find_launches(const Subject& subject, const Stream& stream, Edits& edits);

// Adds edits for `extern __shared__` arrays in `stream`. Throws FormatError.
void find_shared_arrays(const Subject& subject, const Stream& stream, Edits& edits);

// Adds edits for kernels' addresses that are cast to void* in `stream`.
void find_kernel_pointers(const Subject& subject, const Stream& stream, Edits& edits);

}  // namespace lockstep::translate
