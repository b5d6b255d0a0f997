#pragma once
// One rank of a group with shared memory, for the tests of what goes through it.
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "02_ring_all_reduce/shared_memory/pull_collectives.hpp"
#include "02_ring_all_reduce/shared_memory_all_reduce.hpp"
#include "base/deadline.hpp"
#include "support/soon.hpp"

namespace lockstep::test {

// Where ranks have their buffers. Mixed: odd ranks registered, even ranks private. Slots: private, and all through the
// slots whatever their size. Mixed small: as mixed, while the private ones take their buffers for the slots'.
enum class Place { kSlots, kPrivate, kRegistered, kMixed, kMixedSmall };
inline const std::vector<Place> kPlaces{Place::kSlots, Place::kPrivate, Place::kRegistered, Place::kMixed,
                                        Place::kMixedSmall};

inline bool is_mixed(Place place) { return place == Place::kMixed || place == Place::kMixedSmall; }

inline ring::SmallBufferLimits limits_for(Place place) {
  const bool has_slots = place == Place::kSlots || place == Place::kMixedSmall;
  const std::size_t limit = has_slots ? 10000 : 0;
  return {limit, place == Place::kSlots ? limit : 0};
}

// One rank's end of the collectives, and memory to reduce in.
class Member {
 public:
  Member(const comm::JobContext& context, Place place)
      : context_(context),
        memory_(comm::make_shared_memory(context, "test", soon()).memory),
        registered_(memory_),
        meeting_(memory_, limits_for(place).private_bytes, soon()),
        all_reduce_(meeting_, registered_, limits_for(place)),
        pull_(meeting_, registered_, limits_for(place)),
        is_registered_(place == Place::kRegistered || (is_mixed(place) && context.rank % 2 == 1)) {}

  template <typename T>
  void reduce(std::span<T> values, comm::ReduceOp op, const Deadline& deadline = soon()) {
    all_reduce_.run(comm::host_buffer(values), next<T>(comm::Collective::kAllReduce, values.size(), op), deadline);
  }

  template <typename T>
  void reduce_scatter(std::span<T> output, std::span<T> input, comm::ReduceOp op) {
    pull_.reduce_scatter(comm::host_buffer(output), comm::host_buffer(input),
                         next<T>(comm::Collective::kReduceScatter, output.size(), op), soon());
  }

  template <typename T>
  void all_gather(std::span<T> output, std::span<T> input) {
    pull_.all_gather(comm::host_buffer(output), comm::host_buffer(input),
                     next<T>(comm::Collective::kAllGather, input.size(), comm::ReduceOp::kSum), soon());
  }

  // `count` elements where this rank has its buffers. All ranks call it: an allocation is collective.
  template <typename T>
  std::span<T> buffer(std::size_t count) {
    const auto block = registered_.allocate(count * sizeof(T), soon());
    storage_ = is_registered_ ? block : Storage::allocate(count * sizeof(T));
    return {reinterpret_cast<T*>(storage_->data()), count};
  }

  [[nodiscard]] const comm::JobContext& context() const { return context_; }
  [[nodiscard]] comm::SharedMemory& memory() { return *memory_; }

  std::uint64_t sequence = 0;

 private:
  template <typename T>
  comm::Fingerprint next(comm::Collective collective, std::size_t count, comm::ReduceOp op) {
    return {.sequence = sequence++,
            .collective = collective,
            .op = op,
            .dtype = dtype_of<T>,
            .root = 0,
            .count = static_cast<std::int64_t>(count)};
  }

  const comm::JobContext& context_;
  std::shared_ptr<comm::SharedMemory> memory_;
  comm::RegisteredMemory registered_;
  ring::SharedMemoryMeeting meeting_;
  ring::SharedMemoryAllReduce all_reduce_;
  ring::PullCollectives pull_;
  bool is_registered_;
  std::shared_ptr<Storage> storage_;
};

}  // namespace lockstep::test
