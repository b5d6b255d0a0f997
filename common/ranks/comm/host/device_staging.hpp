#pragma once
/// @file
/// Lets a host backend run collectives on device memory. Internal to this module.
#include <functional>
#include <memory>
#include <vector>

#include "base/deadline.hpp"
#include "comm/buffer.hpp"
#include "device/storage.hpp"
#include "device/stream.hpp"

namespace lockstep::comm {

/// The two streams on which a group copies, separate from computation: copies to the host do not wait for copies back.
struct StagingStreams {
  /// @param device  The device whose memory is staged.
  explicit StagingStreams(Device device) : to_host(device), to_device(device) {}

  Stream to_host;
  Stream to_device;
};

/// Pinned host memory in place of the device buffers of one call. Copies to it are issued by stage(), on the caller's
/// thread; arrive() and send_back() belong to the thread that runs the collective.
class DeviceStaging {
 public:
  /// @param streams  For the buffers' device.
  explicit DeviceStaging(std::shared_ptr<StagingStreams> streams);

  /// How a buffer is copied.
  enum class Content {
    kInOut,  ///< Its elements go to the host, and results come back.
    kIn,     ///< Its elements go to the host.
    kRoom,   ///< Scratch: nothing is copied.
  };
  /// Replaces the memory of `buffer` by pinned memory.
  /// @param producer  The stream that makes the elements.
  void stage(Buffer& buffer, const Stream& producer, Content content);

  /// Blocks until the elements are in host memory.
  /// @param check  Called repeatedly while this waits; throws if there is no point in waiting any longer.
  /// @throws TimeoutError  The producer, or the copy, is not done by `deadline`. @throws  Whatever `check` throws.
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
