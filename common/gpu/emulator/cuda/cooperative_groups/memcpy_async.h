#pragma once
/// @file
/// Replaces CUDA's header of this name: copies from global to shared memory by all threads of a group. They land when
/// the group waits for them, not before.
#include <algorithm>
#include <cstddef>

#include "../cooperative_groups.h"
#include "../lockstep_emulator/asynchronous_bytes.h"

namespace cooperative_groups {

/// Copies `bytes`.
template <typename Group, typename T>
void memcpy_async(const Group& group, T* to, const T* from, std::size_t bytes, LOCKSTEP_EMULATOR_AT) {
  lockstep::emulator::copy_bytes_async(to, from, bytes, group.thread_rank(), group.size(), at);
  lockstep::emulator::copy_async_commit();
}
template <typename Group>
void memcpy_async(const Group& group, void* to, const void* from, std::size_t bytes, LOCKSTEP_EMULATOR_AT) {
  lockstep::emulator::copy_bytes_async(to, from, bytes, group.thread_rank(), group.size(), at);
  lockstep::emulator::copy_async_commit();
}
/// Copies as many elements as both sides have.
template <typename Group, typename T>
void memcpy_async(const Group& group, T* to, std::size_t to_count, const T* from, std::size_t from_count,
                  LOCKSTEP_EMULATOR_AT) {
  memcpy_async(group, to, from, std::min(to_count, from_count) * sizeof(T), at);
}
/// Waits for all copies of the group except the last `Pending`.
template <unsigned Pending, typename Group>
void wait_prior(const Group& group, LOCKSTEP_EMULATOR_AT) {
  lockstep::emulator::copy_async_wait(Pending);
  group.sync(at);
}
/// Waits for all copies of the group.
template <typename Group>
void wait(const Group& group, LOCKSTEP_EMULATOR_AT) {
  wait_prior<0>(group, at);
}

}  // namespace cooperative_groups
