#include "emulator/checker/shadow.hpp"

#include <algorithm>

#include "emulator/checker/checker.hpp"

namespace lockstep::emulator {
namespace {

using checker::Checker;
using checker::Target;

bool is_checking() { return Checker::instance().jobs().rules; }

std::size_t within(const Target& target, std::size_t bytes) {
  return std::min(bytes, target.shadow->bytes() - target.offset);
}

}  // namespace

void host_wrote(const void* device_address, std::size_t bytes) {
  if (!is_checking() || bytes == 0) return;
  Checker::instance().with_host_target(
      device_address, [&](const Target& target) { target.shadow->set_written(target.offset, within(target, bytes)); });
}

void host_read(const void*, std::size_t) {}

void forget(const void* begin, std::size_t bytes) {
  if (!is_checking() || bytes == 0) return;
  Checker::instance().with_host_target(
      begin, [&](const Target& target) { target.shadow->set_unwritten(target.offset, within(target, bytes)); });
}

void allow_host_memory(const void* begin, std::size_t bytes) { Checker::instance().set_host_memory(begin, bytes); }
void disallow_host_memory(const void* begin) { Checker::instance().set_host_memory(begin, 0); }
void report_host_access(const void* address, const void* pc) { Checker::instance().report_fault(address, pc); }

namespace checker {

void Checker::set_host_memory(const void* begin, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (bytes > 0) {
    memory_.allow_host(begin, bytes);
  } else {
    memory_.disallow_host(begin);
  }
}

}  // namespace checker
}  // namespace lockstep::emulator
