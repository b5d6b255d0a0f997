#pragma once
// How host memory takes part in a collective of NCCL's, which moves device memory only. Private to the chapter.
#include <memory>
#include <vector>

#include "comm/buffer.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep::nccl {

// Device memory in place of the host buffers of one task: copied there in the order of a stream, and back.
class HostBounce {
 public:
  // Puts device memory in the place of `buffer`'s host memory and copies the elements there. A buffer that is a part of
  // one that was brought before becomes a part of that one's device memory.
  // is_result: the elements come back.
  void bring(comm::Buffer& buffer, bool is_result, const Stream& stream);
  // Enqueues the copies of results to pinned memory.
  void send_back(const Stream& stream) const;
  // Once those are done: writes the results to where they belong.
  void deliver() const;
  [[nodiscard]] bool has_results() const noexcept { return !results_.empty(); }
  // Whether deliver() writes to any of this host memory.
  [[nodiscard]] bool writes_to(const comm::Buffer& host) const noexcept;

 private:
  struct Region {
    std::byte* host;
    std::size_t bytes;
    std::shared_ptr<Storage> device;
    std::shared_ptr<Storage> pinned;
    std::shared_ptr<void> keep_alive;  // of the host memory
  };
  struct Result {
    std::size_t region;
    std::size_t offset;
    std::size_t bytes;
  };
  // The region that holds these bytes; regions_.size(): none.
  [[nodiscard]] std::size_t region_of(const std::byte* host, std::size_t bytes) const noexcept;

  std::vector<Region> regions_;
  std::vector<Result> results_;
};

}  // namespace lockstep::nccl
