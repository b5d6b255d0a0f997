#pragma once
/// @file
/// The programs and shared libraries of this process: their addresses and writable segments.
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::emulator::checker {

/// Half-open range of addresses.
struct AddressRange {
  std::uintptr_t begin = 0;  ///< First.
  std::uintptr_t end = 0;    ///< One past the last.
  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept { return address - begin < end - begin; }
  [[nodiscard]] bool is_empty() const noexcept { return begin >= end; }
};

/// A loaded ELF file.
struct BinaryImage {
  std::string path;
  std::uintptr_t bias = 0;             ///< Address in memory minus address in the file.
  AddressRange all;                    ///< From the lowest to the highest segment.
  std::vector<AddressRange> writable;  ///< Data segments except parts that the loader made read-only.
};

/// All images of the process. @param[out] generation  Increases when libraries are loaded.
std::vector<BinaryImage> binary_images(std::uint64_t& generation);
/// Increases when libraries are loaded.
std::uint64_t image_generation();

/// A variable of a loaded file.
struct DataSymbol {
  std::string name;             ///< As written in the source, without scopes.
  AddressRange range;           ///< In memory.
  bool is_initialised = false;  ///< By a constructor, or not with zeros. Shared memory never is.
};
/// The variable that covers an address, from the file's symbol table; the name is empty if there is none.
DataSymbol data_symbol(const BinaryImage& image, std::uintptr_t address);
/// The static variables of functions, sorted by address: those whose mangled names begin with _ZZ. @param within  Only
/// those in this range. Empty if the file's symbols were stripped.
std::vector<DataSymbol> function_variables(const BinaryImage& image, const AddressRange& within);

}  // namespace lockstep::emulator::checker
