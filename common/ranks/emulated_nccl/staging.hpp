#pragma once
/// @file
/// Pinned host memory through which the data of operations passes.
#include <cstddef>
#include <optional>
#include <span>

#include "emulated_nccl/include/nccl.h"

namespace lockstep::emulated_nccl {

/// A block of pinned memory for copies of one stream. The destructor keeps it for the next operation: of any stream of
/// the device after finish(), else of the same stream, whose copies are ordered. It may run on any thread, even in host
/// functions, which may not free pinned memory.
class Staging {
 public:
  Staging() noexcept = default;
  /// @throws NcclError  ncclUnhandledCudaError: no memory.
  Staging(int device, cudaStream_t stream, std::size_t bytes);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&& other) noexcept;
  ~Staging();

  /// The copies are over.
  void finish() noexcept { stream_.reset(); }

  /// Has the requested size.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  int device_ = 0;                      // tells the default streams of several devices apart
  std::optional<cudaStream_t> stream_;  // none: copies of no stream use the block
  std::span<std::byte> bytes_;
  std::size_t room_ = 0;
};

}  // namespace lockstep::emulated_nccl
