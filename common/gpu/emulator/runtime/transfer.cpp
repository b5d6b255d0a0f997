#include "emulator/runtime/transfer.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "emulator/checker/shadow.hpp"
#include "emulator/engine/device_memory.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/capture.hpp"
#include "emulator/runtime/host_memory.hpp"
#include "emulator/runtime/reports.hpp"
#include "emulator/runtime/scheduler.hpp"

namespace lockstep::emulator {
namespace {

struct Symbols {
  std::mutex mutex;
  std::map<const std::byte*, std::size_t> bytes;
};

Symbols& symbols() {
  static Symbols& all = *new Symbols;  // executor threads may outlive the destructors of statics
  return all;
}

bool is_symbol(const void* address) {
  const auto* place = static_cast<const std::byte*>(address);
  const std::lock_guard lock(symbols().mutex);
  auto found = symbols().bytes.upper_bound(place);
  if (found == symbols().bytes.begin()) return false;
  --found;
  return place < found->first + found->second;
}

bool is_of_device(MemoryPlace place) { return place == MemoryPlace::kDevice || place == MemoryPlace::kManaged; }
bool is_of_host(MemoryPlace place) { return place != MemoryPlace::kDevice; }

void require_direction(cudaMemcpyKind kind, MemoryPlace to, MemoryPlace from, const Transfer& copy) {
  api_require(kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault, cudaErrorInvalidMemcpyDirection,
              "the direction is none of cudaMemcpyKind");
  if (kind == cudaMemcpyDefault) return;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool to_fits = to_device ? is_of_device(to) : is_of_host(to);
  const bool from_fits = from_device ? is_of_device(from) : is_of_host(from);
  if (to_fits && from_fits) return;
  throw ApiError{cudaErrorInvalidValue,
                 concat("the direction does not fit: the destination is ", describe_address(copy.to),
                        ", the source is ", describe_address(copy.from))};
}

// Bytes from the first row's first to the last row's last. @throws ApiError  There is no such number.
std::size_t span_bytes(std::size_t pitch, std::size_t width, std::size_t height) {
  std::size_t bytes = 0;
  const bool is_too_much =
      __builtin_mul_overflow(height - 1, pitch, &bytes) || __builtin_add_overflow(bytes, width, &bytes);
  api_require(!is_too_much, cudaErrorInvalidValue, "the rows reach beyond all addresses: is a size negative?");
  return bytes;
}

// Copies at the runtime's addresses; reports the program's addresses to the checker.
void run_copy(const Transfer& copy, const std::byte* from_alias) {
  std::byte* to_alias = alias_of(copy.to);
  for (std::size_t row = 0; row < copy.height; ++row) {
    const std::size_t to_offset = row * copy.to_pitch;
    const std::size_t from_offset = row * copy.from_pitch;
    if (copy.from != nullptr && is_of_host(place_of(copy.to))) host_read(copy.from + from_offset, copy.width);
    std::memmove(to_alias + to_offset, from_alias + from_offset, copy.width);
    host_wrote(copy.to + to_offset, copy.width);
  }
}

// A contiguous copy of the rows, made now.
std::shared_ptr<std::vector<std::byte>> stage(const Transfer& copy) {
  auto buffer = std::make_shared<std::vector<std::byte>>(copy.width * copy.height);
  for (std::size_t row = 0; row < copy.height; ++row) {
    std::memcpy(buffer->data() + row * copy.width, copy.from + row * copy.from_pitch, copy.width);
  }
  return buffer;
}

Operation make_operation(Transfer& copy, bool is_staged) {
  Operation operation;
  operation.name = copy.name;
  operation.place = copy.place;
  const bool is_contiguous = copy.height == 1;  // rows with gaps may interleave with another copy's
  if (is_contiguous) operation.accesses.push_back({copy.to, copy.width, true});
  if (is_staged) {
    auto buffer = stage(copy);
    copy.from = nullptr;
    copy.from_pitch = copy.width;
    operation.run = [copy, buffer] {
      run_copy(copy, buffer->data());
      return cudaSuccess;
    };
  } else {
    if (is_contiguous) operation.accesses.push_back({copy.from, copy.width, false});
    operation.run = [copy] {
      run_copy(copy, alias_of(copy.from));
      return cudaSuccess;
    };
  }
  return operation;
}

// A copy that has been checked: its operation, and whether the host waits for it.
struct PreparedCopy {
  Operation operation;
  bool host_waits = false;
};

// @param is_recorded  In a capture: nothing is copied now, and nothing waited for.
PreparedCopy prepare(Transfer copy, HostWaits waits, bool is_recorded) {
  if (copy.to_pitch == copy.width && copy.from_pitch == copy.width) {
    copy.width *= std::exchange(copy.height, 1);
  }
  const MemoryPlace to = place_of(copy.to);
  const MemoryPlace from = place_of(copy.from);
  const bool is_between_devices = is_of_device(to) && is_of_device(from);
  const bool is_between_hosts = !is_of_device(to) && !is_of_device(from);
  const bool must_wait =
      waits == HostWaits::kAsSynchronousCall ? !is_between_devices : to == MemoryPlace::kPageable || is_between_hosts;
  const bool is_staged = from == MemoryPlace::kPageable && !must_wait && !is_recorded;
  return {make_operation(copy, is_staged), must_wait && !is_recorded};
}

void finish(const Point& end, bool waits) {
  if (!waits) return;
  Scheduler::instance().wait(end);
  if (end.queue) throw_failure(end.queue->device);
}

}  // namespace

void note_symbol(const void* symbol, std::size_t bytes) {
  const std::lock_guard lock(symbols().mutex);
  symbols().bytes[static_cast<const std::byte*>(symbol)] = bytes;
}

int device_of(const void* address) {
  const Allocation* block = DeviceMemory::instance().find(address);
  return block != nullptr && block->covers(address) && !block->is_freed ? block->device : -1;
}

MemoryPlace place_of(const void* address) {
  if (DeviceMemory::instance().is_managed(address)) return MemoryPlace::kManaged;
  if (DeviceMemory::instance().contains(address) || is_symbol(address)) return MemoryPlace::kDevice;
  return HostMemory::instance().find(address) ? MemoryPlace::kPinned : MemoryPlace::kPageable;
}

std::byte* alias_of(const void* address) {
  DeviceMemory& memory = DeviceMemory::instance();
  return memory.contains(address) ? memory.alias(address) : HostMemory::instance().alias(address);
}

void require_inside(const void* address, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(address);
  const auto fail = [&] {
    throw ApiError{cudaErrorInvalidValue,
                   concat(bytes, " bytes do not lie in one allocation: they begin in ", describe_address(address))};
  };
  if (DeviceMemory::instance().contains(address)) {
    const Allocation* block = DeviceMemory::instance().find(address);
    if (block == nullptr || block->is_freed || !block->covers(first)) fail();
    if (bytes > static_cast<std::size_t>(block->begin + block->bytes - first)) fail();
  } else if (const auto pinned = HostMemory::instance().find(address)) {
    if (bytes > static_cast<std::size_t>(pinned->begin + pinned->bytes - first)) fail();
  }
}

void require_transfer(const Transfer& copy, cudaMemcpyKind kind) {
  if (copy.width == 0 || copy.height == 0) return;
  api_require(copy.to != nullptr && copy.from != nullptr, cudaErrorInvalidValue, "an address is null");
  api_require(copy.height == 1 || (copy.to_pitch >= copy.width && copy.from_pitch >= copy.width),
              cudaErrorInvalidPitchValue, "a pitch is smaller than a row");
  const std::size_t to_bytes = span_bytes(copy.to_pitch, copy.width, copy.height);
  const std::size_t from_bytes = span_bytes(copy.from_pitch, copy.width, copy.height);
  require_direction(kind, place_of(copy.to), place_of(copy.from), copy);
  require_inside(copy.to, to_bytes);
  require_inside(copy.from, from_bytes);
}

void transfer(const Transfer& copy, cudaMemcpyKind kind, const std::shared_ptr<StreamQueue>& queue, HostWaits waits) {
  if (copy.width == 0 || copy.height == 0) return;
  require_transfer(copy, kind);
  PreparedCopy prepared = prepare(copy, waits, is_captured(*queue));
  finish(issue(queue, std::move(prepared.operation)), prepared.host_waits);
}

void transfer_parts(const std::vector<Transfer>& parts, const std::shared_ptr<StreamQueue>& queue, HostWaits waits) {
  if (parts.empty()) return;
  Operation whole;
  whole.name = parts.front().name;
  whole.place = parts.front().place;
  bool host_waits = false;
  std::vector<std::function<cudaError_t()>> runs;
  for (const Transfer& part : parts) {
    PreparedCopy prepared = prepare(part, waits, is_captured(*queue));
    const std::vector<Access>& accesses = prepared.operation.accesses;
    whole.accesses.insert(whole.accesses.end(), accesses.begin(), accesses.end());
    runs.push_back(std::move(prepared.operation.run));
    host_waits = host_waits || prepared.host_waits;
  }
  whole.run = [runs = std::move(runs)] {
    for (const auto& run : runs) run();  // none can fail: they are checked
    return cudaSuccess;
  };
  finish(issue(queue, std::move(whole)), host_waits);
}

void require_rows(const void* pointer, std::size_t pitch, std::size_t width, std::size_t height) {
  if (width == 0 || height == 0) return;
  api_require(pointer != nullptr && place_of(pointer) != MemoryPlace::kPageable, cudaErrorInvalidValue,
              "the memory is neither a device's nor pinned");
  api_require(height == 1 || pitch >= width, cudaErrorInvalidPitchValue, "the pitch is smaller than a row");
  require_inside(pointer, span_bytes(pitch, width, height));
}

void set_rows(const char* name, SourcePlace place, void* pointer, std::size_t pitch, int value, std::size_t width,
              std::size_t height, const std::shared_ptr<StreamQueue>& queue, HostWaits waits) {
  if (width == 0 || height == 0) return;
  require_rows(pointer, pitch, width, height);
  const MemoryPlace where = place_of(pointer);
  auto* const first = static_cast<std::byte*>(pointer);
  Operation set;
  set.name = name;
  set.place = place;
  if (height == 1) set.accesses.push_back({first, width, true});  // rows with gaps may interleave with another call's
  set.run = [=] {
    for (std::size_t row = 0; row < height; ++row) {
      std::memset(alias_of(first) + row * pitch, value, width);
      host_wrote(first + row * pitch, width);
    }
    return cudaSuccess;
  };
  const Point end = issue(queue, std::move(set));
  finish(end, waits == HostWaits::kAsSynchronousCall && where != MemoryPlace::kDevice);
}

void set_bytes(const char* name, SourcePlace place, void* pointer, int value, std::size_t bytes,
               const std::shared_ptr<StreamQueue>& queue, HostWaits waits) {
  set_rows(name, place, pointer, bytes, value, bytes, 1, queue, waits);
}

}  // namespace lockstep::emulator
