#pragma once
/// @file
/// Captures: operations of streams that are recorded instead of run.
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/cuda/lockstep_emulator/api_graph.h"
#include "emulator/runtime/operation.hpp"

namespace lockstep::emulator {

/// Recorded operations, in the order of issue.
using RecordedOperations = std::vector<Operation>;

/// A place in a capture, held by an event.
struct CaptureMark {
  std::uint64_t capture = 0;  ///< Number of the capture.
  StreamId stream = 0;        ///< Where the event was recorded.
  std::size_t position = 0;   ///< Operations recorded before it.
};

/// Issues an operation to its stream, or records it if the stream is captured.
/// @return  Its end; a point in the past if it is recorded.
/// @throws ApiError  The capture is invalid, or the default stream would wait for a captured one.
Point issue(const std::shared_ptr<StreamQueue>& queue, Operation operation);

/// @throws ApiError  The stream is captured already, or is the default stream.
void begin_capture(const StreamQueue& queue, cudaStreamCaptureMode mode);
/// Ends the capture that began in the stream. @throws ApiError  There is none, or it is invalid or unjoined.
RecordedOperations end_capture(const StreamQueue& queue);
/// Drops the capture that began in the stream, if any: the stream is destroyed, or its thread ends.
void abandon_capture(const StreamQueue& queue);
/// Drops all captures of a device that is reset.
void abandon_captures(int device);
/// True while the stream's operations are recorded.
bool is_captured(const StreamQueue& queue);
/// The same, and whether an error has made the capture useless.
/// @throws ApiError  The default stream would wait for a captured one; the capture stays valid.
cudaStreamCaptureStatus capture_status(const StreamQueue& queue);

/// The place after what is recorded, for an event recorded in a captured stream.
CaptureMark mark_capture(const StreamQueue& queue);
/// Lets a stream wait for an event of a capture: it joins the capture.
/// @throws ApiError  The capture has ended, or the stream belongs to another one or is the default stream.
void join_capture(const StreamQueue& queue, const CaptureMark& mark);

/// For calls that wait for a stream. @throws ApiError  It is captured; the capture becomes invalid.
void refuse_in_capture(const StreamQueue& queue);
/// For calls that take effect at once, whatever is recorded: those that allocate, free or pin memory, and those that
/// query an event or wait for it.
/// @throws ApiError  A capture's mode forbids it to this thread; the capture becomes invalid.
void refuse_unsafe_call();
/// Sets which captures forbid this thread such calls. @return  Its mode before.
cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);
/// For calls that wait for a device. @throws ApiError  One of its streams is captured; the capture becomes invalid.
void refuse_in_captures(int device);

}  // namespace lockstep::emulator
