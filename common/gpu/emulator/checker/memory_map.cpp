#include "emulator/checker/memory_map.hpp"

#include <algorithm>
#include <sstream>

#include "emulator/engine/builtin_variables.hpp"

namespace lockstep::emulator::checker {
namespace {

// Addresses around dynamic shared memory that count as overruns of it. The upper margin holds the largest request of
// any launch.
constexpr std::size_t kMarginBelow = 4096;
constexpr std::size_t kMarginAbove = std::size_t{232} * 1024;

char own_data = 0;  // identifies the library that this is linked into

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

bool lies_in(const void* address, const void* begin, std::size_t bytes) {
  return number(address) - number(begin) < bytes;
}

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
}

std::string describe(const Allocation& allocation) {
  std::ostringstream text;
  text << "allocation #" << allocation.id << " (" << allocation.bytes << " bytes";
  if (allocation.allocated_at.file != nullptr) {
    text << ", allocated at " << base_name(allocation.allocated_at.file) << ':' << allocation.allocated_at.line;
  }
  text << ')';
  return text.str();
}

}  // namespace

MemoryMap::MemoryMap() : memory_(DeviceMemory::instance()), global_(memory_.arena_begin(), memory_.arena_bytes()) {}

// The emulator's own data is not shared memory, even if inline functions of its headers read it.
void MemoryMap::refresh() {
  known_allocations_ = {};
  if (image_generation_ != 0 && image_generation() == image_generation_) return;
  images_ = binary_images(image_generation_);
  std::vector<StaticRange> ranges;
  for (std::size_t i = 0; i < images_.size(); ++i) {
    if (images_[i].all.contains(number(&own_data))) continue;
    for (const AddressRange& range : images_[i].writable) ranges.push_back({range, i, nullptr, {}});
  }
  for (StaticRange& range : ranges) {
    const auto old = std::find_if(statics_.begin(), statics_.end(),
                                  [&](const StaticRange& known) { return known.range.begin == range.range.begin; });
    if (old == statics_.end()) continue;
    range.shadow = std::move(old->shadow);
    range.shared = std::move(old->shared);
  }
  statics_ = std::move(ranges);
  last_static_ = nullptr;
  last_shared_ = {};
}

void MemoryMap::forget_order() {
  global_.forget_order();
  dynamic_.reset();  // leftovers of earlier blocks do not count
  for (const StaticRange& range : statics_) {
    if (range.shadow != nullptr) range.shadow->forget_order();
  }
}

void MemoryMap::set_dynamic_shared(std::span<std::byte> memory) {
  dynamic_bytes_ = memory;
  if (memory.data() == nullptr || (dynamic_ != nullptr && dynamic_->begin() + kMarginBelow == memory.data())) return;
  dynamic_ = std::make_unique<ShadowRange>(memory.data() - kMarginBelow, kMarginBelow + kMarginAbove);
}

bool MemoryMap::is_allocated_elsewhere(const Target& target, const void* address, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(address);
  if (target.space == Space::kDynamicShared) {
    return begin >= dynamic_bytes_.data() && begin + bytes <= dynamic_bytes_.data() + dynamic_bytes_.size();
  }
  if (target.space == Space::kStaticShared) return last_shared_.end - number(address) >= bytes;
  if (target.space != Space::kGlobal) return true;
  const Allocation* const found = memory_.find(address);
  if (found == nullptr || !found->covers(address) || begin + bytes > found->begin + found->bytes) return false;
  if (found->is_freed) return false;
  known_allocations_[oldest_known_] = {found->begin, found->bytes};
  oldest_known_ = (oldest_known_ + 1) % known_allocations_.size();
  return true;
}

// A block's shared memory is a static variable of its kernel, because one block runs at a time. Static variables
// outside functions are __device__ and __constant__ ones, which are zero-initialised.
Target MemoryMap::at_static(StaticRange& range, const void* address) {
  if (range.shadow == nullptr) {
    const std::uintptr_t begin = range.range.begin / 16 * 16;
    range.shadow = std::make_unique<ShadowRange>(reinterpret_cast<const std::byte*>(begin), range.range.end - begin);
    range.shadow->set_written(0, range.shadow->bytes());
    range.shared = function_variables(images_[range.image], range.range);
  }
  const DataSymbol* const variable = shared_variable(range, address);
  if (variable == nullptr) return at(Space::kDeviceVariable, *range.shadow, address);
  last_static_ = &range;
  last_shared_ = variable->range;
  return at(Space::kStaticShared, *range.shadow, address);
}

const DataSymbol* MemoryMap::shared_variable(const StaticRange& range, const void* address) {
  const auto after =
      std::upper_bound(range.shared.begin(), range.shared.end(), number(address),
                       [](std::uintptr_t value, const DataSymbol& variable) { return value < variable.range.begin; });
  if (after == range.shared.begin()) return nullptr;
  return std::prev(after)->range.contains(number(address)) ? &*std::prev(after) : nullptr;
}

MemoryMap::StaticRange* MemoryMap::find_static(const void* address) {
  const auto found =
      std::find_if(statics_.begin(), statics_.end(), [&](const StaticRange& range) { return range.contains(address); });
  return found == statics_.end() ? nullptr : &*found;
}

// Pinned memory, or data of the program that is only read.
bool MemoryMap::is_usable_host(const void* address, bool is_write) const {
  const auto after = host_ranges_.upper_bound(address);
  const bool is_pinned =
      after != host_ranges_.begin() && lies_in(address, std::prev(after)->first, std::prev(after)->second);
  return is_pinned || (!is_write && std::any_of(images_.begin(), images_.end(), [&](const BinaryImage& image) {
           return image.all.contains(number(address));
         }));
}

Target MemoryMap::find_rare(const void* address, bool is_write) {
  const BlockState& block = *current_block();
  if (lies_in(address, &block, sizeof block) || lies_in(address, block.threads.data(), block.threads.size_bytes()) ||
      lies_in(address, block.call, sizeof *block.call) ||
      lies_in(address, block.call->arguments, block.call->argument_bytes) || is_builtin_variable(address)) {
    return {};
  }
  if (StaticRange* const range = find_static(address)) return at_static(*range, address);
  if (is_usable_host(address, is_write)) return {};
  return {Space::kHost, nullptr, 0};
}

Target MemoryMap::find_for_host(const void* address) {
  if (global_.contains(address)) return at(Space::kGlobal, global_, address);
  refresh();
  StaticRange* const range = find_static(address);
  return range == nullptr ? Target{} : at_static(*range, address);
}

bool MemoryMap::is_freed(const void* address) const {
  const Allocation* const allocation = memory_.find(address);
  return allocation != nullptr && allocation->covers(address) && allocation->is_freed;
}

std::string describe_global(const void* address) {
  const Allocation* const allocation = DeviceMemory::instance().find(address);
  if (allocation == nullptr) return "global memory";
  return "global memory, byte " + std::to_string(number(address) - number(allocation->begin)) + " of " +
         describe(*allocation);
}

std::string MemoryMap::describe(Space space, const void* address) const {
  switch (space) {
    case Space::kGlobal:
      return describe_global(address);
    case Space::kDynamicShared:
      return "dynamic shared memory, byte " + std::to_string(number(address) - number(dynamic_bytes_.data()));
    case Space::kStaticShared: {
      const DataSymbol* const variable = shared_variable(*last_static_, address);
      return "shared memory '" + variable->name + "', byte " + std::to_string(number(address) - variable->range.begin);
    }
    case Space::kDeviceVariable: {
      const auto image = std::find_if(images_.begin(), images_.end(), [&](const BinaryImage& candidate) {
        return candidate.all.contains(number(address));
      });
      const DataSymbol variable = image == images_.end() ? DataSymbol{} : data_symbol(*image, number(address));
      if (variable.name.empty()) return "device variable";
      return "device variable '" + variable.name + "', byte " + std::to_string(number(address) - variable.range.begin);
    }
    default:
      return "host memory";
  }
}

std::string MemoryMap::describe_miss(Space space, const void* address, std::size_t bytes) const {
  std::ostringstream text;
  text << bytes << (bytes == 1 ? " byte " : " bytes ");
  if (space == Space::kDynamicShared) {
    text << "at offset " << static_cast<std::ptrdiff_t>(number(address) - number(dynamic_bytes_.data()))
         << " of dynamic shared memory, of which the launch asked for " << dynamic_bytes_.size() << " bytes";
    return text.str();
  }
  if (space == Space::kStaticShared) {
    text << "reach over the end of " << describe(space, address) << " of " << last_shared_.end - last_shared_.begin;
    return text.str();
  }
  const auto* const byte = static_cast<const std::byte*>(address);
  const Allocation* const below = memory_.find(address);
  const Allocation* const above =
      memory_.find(byte + kDeviceAlignment);  // the gap between two blocks is at most this long
  const bool is_near_above = above != nullptr && above != below && above->begin > byte;
  if (below != nullptr && below->covers(address)) {
    text << "at byte " << byte - below->begin << " of " << checker::describe(*below);
  } else if (is_near_above && (below == nullptr || above->begin - byte < byte - (below->begin + below->bytes))) {
    text << "that begin " << above->begin - byte << " bytes before " << checker::describe(*above);
  } else if (below != nullptr) {
    text << "that begin " << byte - (below->begin + below->bytes) << " bytes after the end of "
         << checker::describe(*below);
  } else {
    text << "of device memory that was never allocated";
  }
  return text.str();
}

}  // namespace lockstep::emulator::checker
