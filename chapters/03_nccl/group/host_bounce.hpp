#pragma once
// Lets host memory take part in NCCL's collectives, which move device memory only. Internal to this chapter.
#include <memory>
#include <span>
#include <vector>

#include "comm/buffer.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep::nccl {

// Device memory that replaces the host buffers of one task: copied there and back in stream order.
class HostBounce {
 public:
  struct Use {
    comm::Buffer* buffer;
    bool is_result;  // its elements are copied back
  };
  // Replaces the buffers' host memory by device memory and copies the elements there. Buffers that overlap on the host
  // overlap on the device, too. Call once.
  void bring(std::vector<Use> uses, const Stream& stream);
  // Enqueues the copies of results to pinned memory.
  void send_back(const Stream& stream) const;
  // After these copies: writes the results to host memory.
  void deliver() const;
  // After that: gives all memory back, although a handle may keep this object for long.
  void release() noexcept { regions_.clear(); }
  [[nodiscard]] bool has_results() const noexcept { return !results_.empty(); }
  // Whether deliver() writes to any of this host memory; false once the memory has been released.
  [[nodiscard]] bool writes_to(const comm::Buffer& host) const noexcept;

 private:
  struct Region {
    std::byte* host;
    std::size_t bytes;
    std::shared_ptr<Storage> device;
    std::shared_ptr<Storage> pinned;
    std::vector<std::shared_ptr<void>> keep_alive;  // owners of the host memory
  };
  struct Result {
    std::size_t region;
    std::size_t offset;
    std::size_t bytes;
  };
  // Brings buffers whose memory together is this one, without gaps.
  void bring_region(std::byte* host, std::size_t bytes, std::span<const Use> uses, const Stream& stream);

  std::vector<Region> regions_;
  std::vector<Result> results_;
};

}  // namespace lockstep::nccl
