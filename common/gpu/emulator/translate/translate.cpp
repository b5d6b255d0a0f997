#include "emulator/translate/translate.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "emulator/translate/edits.hpp"

namespace lockstep::translate {
namespace {

void find_inclusions(std::string_view source, const Surroundings& surroundings, Edits& edits) {
  if (surroundings.inclusions.empty()) return;
  for (const Inclusion& inclusion : scan_declarations(source).inclusions) {
    const auto replacement = surroundings.inclusions.find(inclusion.name);
    if (replacement == surroundings.inclusions.end()) continue;
    edits.push_back({inclusion.begin, inclusion.end - inclusion.begin, concat('"', replacement->second, '"')});
  }
}

// Edits at the same position keep the order in which they were found: an enclosing one is found first.
std::string apply(std::string_view source, Edits edits) {
  std::ranges::stable_sort(edits, {}, &Edit::begin);
  std::string text;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    if (edit.begin < at) continue;  // inside the range of an earlier edit
    text.append(source.substr(at, edit.begin - at)).append(edit.text);
    at = edit.begin + edit.length;
  }
  return text.append(source.substr(at));
}

}  // namespace

std::string translate_source(std::string_view source, const Surroundings& surroundings) {
  reject_unsupported(source, surroundings.file);
  const Subject subject{source, surroundings.file, surroundings.kernels};
  Edits edits;
  for (const Stream& stream : split_streams(split_tokens(source))) {
    find_launches(subject, stream, edits);
    find_shared_arrays(subject, stream, edits);
    find_kernel_pointers(subject, stream, edits);
  }
  find_inclusions(source, surroundings, edits);
  return apply(source, std::move(edits));
}

std::string translation_unit(std::string_view source, const Surroundings& surroundings) {
  std::string file;
  for (const char character : surroundings.file) {
    if (character == '"' || character == '\\') file += '\\';
    file += character;
  }
  return concat("#include <cuda_runtime.h>\n#include <lockstep_emulator/launch_syntax.h>\n#line 1 \"", file, "\"\n",
                translate_source(source, surroundings));
}

}  // namespace lockstep::translate
