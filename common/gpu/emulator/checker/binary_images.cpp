#include "emulator/checker/binary_images.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

namespace lockstep::emulator::checker {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

// An ELF file's sections; all are empty if the file cannot be read.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(path, std::ios::binary) {
    const auto headers = read<Header>(0, 1);
    if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0) return;
    sections_ = read<Section>(headers[0].e_shoff, headers[0].e_shnum);
    if (headers[0].e_shstrndx < sections_.size()) names_ = text_of(sections_[headers[0].e_shstrndx]);
  }

  [[nodiscard]] std::optional<Section> section(const std::string& name) const {
    for (const Section& section : sections_) {
      if (section.sh_name < names_.size() && name == names_.c_str() + section.sh_name) return section;
    }
    return std::nullopt;
  }
  std::vector<Symbol> symbols(const Section& table) {
    return read<Symbol>(table.sh_offset, table.sh_size / sizeof(Symbol));
  }
  // True if the symbol's bytes are zeros when the program starts.
  [[nodiscard]] bool is_zeroed(const Symbol& symbol) const {
    return symbol.st_shndx < sections_.size() && sections_[symbol.st_shndx].sh_type == SHT_NOBITS;
  }
  std::string names_of(const Section& table) {
    return table.sh_link < sections_.size() ? text_of(sections_[table.sh_link]) : std::string();
  }

 private:
  template <typename T>
  std::vector<T> read(std::uint64_t offset, std::size_t count) {
    std::vector<T> values(count);
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(count * sizeof(T)));
    if (!file_) values.clear();
    return values;
  }
  std::string text_of(const Section& section) {
    const auto text = read<char>(section.sh_offset, section.sh_size);
    return {text.begin(), text.end()};
  }

  std::ifstream file_;
  std::vector<Section> sections_;
  std::string names_;
};

struct Collected {
  std::vector<BinaryImage> images;
  std::uint64_t generation = 0;
};

// The loader makes [relro] read-only after relocating it.
void add_writable(BinaryImage& image, AddressRange segment, const AddressRange& relro) {
  if (segment.contains(relro.begin)) {
    const std::uintptr_t page = 4096;
    const std::uintptr_t writable_from = relro.end / page * page;
    if (relro.begin > segment.begin) image.writable.push_back({segment.begin, relro.begin});
    segment.begin = writable_from;
  }
  if (!segment.is_empty()) image.writable.push_back(segment);
}

AddressRange range_of(const dl_phdr_info& info, const ElfW(Phdr) & segment) {
  return {info.dlpi_addr + segment.p_vaddr, info.dlpi_addr + segment.p_vaddr + segment.p_memsz};
}

int collect(dl_phdr_info* info, std::size_t, void* result) {
  auto& collected = *static_cast<Collected*>(result);
  BinaryImage image;
  image.path = info->dlpi_name[0] == '\0' ? "/proc/self/exe" : info->dlpi_name;
  image.bias = info->dlpi_addr;
  AddressRange relro;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) relro = range_of(*info, info->dlpi_phdr[i]);
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const AddressRange segment = range_of(*info, info->dlpi_phdr[i]);
    if (image.all.is_empty()) image.all = segment;
    image.all = {std::min(image.all.begin, segment.begin), std::max(image.all.end, segment.end)};
    if ((info->dlpi_phdr[i].p_flags & PF_W) != 0) add_writable(image, segment, relro);
  }
  collected.generation = info->dlpi_adds;
  collected.images.push_back(image);
  return 0;
}

// "float* f<a::b>(int)::tile[abi:x]" -> "tile"
std::string variable_name(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  std::string name = status == 0 && text != nullptr ? text.get() : mangled;
  if (const std::size_t scope = name.rfind("::"); scope != std::string::npos) name.erase(0, scope + 2);
  return name.substr(0, name.find_first_of(" .["));
}

// Calls `use(mangled name, range, is_zeroed)` for the variables of an image until it returns true.
template <typename Use>
void for_each_variable(const BinaryImage& image, const Use& use) {
  ElfFile file(image.path);
  for (const char* const table : {".symtab", ".dynsym"}) {
    const auto section = file.section(table);
    if (!section) continue;
    const std::string names = file.names_of(*section);
    for (const Symbol& symbol : file.symbols(*section)) {
      if ((symbol.st_info & 0xfU) != STT_OBJECT || symbol.st_name >= names.size() || symbol.st_shndx == SHN_UNDEF)
        continue;
      const std::uintptr_t begin = image.bias + symbol.st_value;
      const AddressRange range{begin, begin + symbol.st_size};
      if (use(names.c_str() + symbol.st_name, range, file.is_zeroed(symbol))) return;
    }
    return;  // .dynsym is a part of .symtab
  }
}

}  // namespace

std::vector<BinaryImage> binary_images(std::uint64_t& generation) {
  Collected collected;
  dl_iterate_phdr(&collect, &collected);
  generation = collected.generation;
  return collected.images;
}

std::uint64_t image_generation() {
  std::uint64_t generation = 0;
  const auto read_one = [](dl_phdr_info* info, std::size_t, void* result) {
    *static_cast<std::uint64_t*>(result) = info->dlpi_adds;
    return 1;  // stop
  };
  dl_iterate_phdr(read_one, &generation);
  return generation;
}

DataSymbol data_symbol(const BinaryImage& image, std::uintptr_t address) {
  DataSymbol found;
  for_each_variable(image, [&](const char* name, const AddressRange& range, bool is_zeroed) {
    if (!range.contains(address)) return false;
    found = {variable_name(name), range, !is_zeroed};
    return true;
  });
  return found;
}

std::vector<DataSymbol> function_variables(const BinaryImage& image, const AddressRange& within) {
  std::vector<std::pair<std::string, DataSymbol>> named;  // by what follows _Z in the mangled name
  std::unordered_set<std::string> constructed;            // those with a guard, _ZGV and the same
  for_each_variable(image, [&](const char* name, const AddressRange& range, bool is_zeroed) {
    if (std::strncmp(name, "_ZGVZ", 5) == 0) constructed.insert(name + 4);
    if (std::strncmp(name, "_ZZ", 3) == 0 && within.contains(range.begin))
      named.emplace_back(name + 2, DataSymbol{variable_name(name), range, !is_zeroed});
    return false;
  });
  std::vector<DataSymbol> found;
  for (auto& [name, variable] : named) {
    variable.is_initialised |= constructed.contains(name);
    found.push_back(std::move(variable));
  }
  std::ranges::sort(found, {}, [](const DataSymbol& variable) { return variable.range.begin; });
  return found;
}

}  // namespace lockstep::emulator::checker
