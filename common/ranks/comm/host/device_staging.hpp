#pragma once
/// @file
/// How a backend that works in host memory takes part in collectives on device memory. Private to the module.
#include <functional>
#include <memory>
#include <vector>

#include "base/deadline.hpp"
#include "comm/buffer.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep::comm {

/// The two streams on which a group copies, beside whatever computes: what leaves does not wait for what comes back.
struct StagingStreams {
  /// @param device  Whose memory is staged.
  explicit StagingStreams(Device device) : to_host(device), to_device(device) {}

  Stream to_host;    ///< Copies to pinned memory.
  Stream to_device;  ///< Copies of results.
};

/// Pinned host memory in place of the device buffers of one call. Copies to it are issued by stage(), on the caller's
/// thread; arrive() and send_back() belong to the thread that runs the collective.
class DeviceStaging {
 public:
  /// @param streams  Of the buffers' device.
  explicit DeviceStaging(std::shared_ptr<StagingStreams> streams);

  /// What a buffer needs.
  enum class Content {
    kInOut,  ///< Its elements go to the host, and results come back.
    kIn,     ///< Its elements go to the host.
    kRoom,   ///< Scratch: nothing is copied.
  };
  /// Puts pinned memory in the place of `buffer`'s.
  /// @param producer  The stream that makes the elements.
  void stage(Buffer& buffer, const Stream& producer, Content content);

  /// Blocks until the elements are in host memory.
  /// @param check  Throws where waiting is in vain; called again and again.
  /// @throws TimeoutError  What makes the elements does not end by `deadline`. @throws  What `check` throws.
  void arrive(const Deadline& deadline, const std::function<void()>& check) const;
  /// Copies the results back and blocks until they are there. @throws  As arrive().
  void send_back(const Deadline& deadline, const std::function<void()>& check) const;

 private:
  struct Staged {
    Buffer device;
    std::shared_ptr<Storage> host;
    bool is_result;
  };
  std::shared_ptr<StagingStreams> streams_;
  std::vector<Staged> staged_;
  Event arrived_;
};

}  // namespace lockstep::comm
