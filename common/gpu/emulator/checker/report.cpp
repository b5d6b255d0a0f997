// The text form of findings. Tests and lessons quote it: change them together.
#include <sstream>

#include "emulator/checker/findings.hpp"

namespace lockstep::emulator {
namespace {

std::string text_of(const uint3& index) {
  std::ostringstream text;
  text << '(' << index.x << ',' << index.y << ',' << index.z << ')';
  return text.str();
}

std::string text_of(const FindingPlace& place) {
  if (place.file.empty()) return "an unknown place";
  const std::string name =
      place.file.substr(place.file.rfind('/') == std::string::npos ? 0 : place.file.rfind('/') + 1);
  return place.line == 0 ? name : name + ":" + std::to_string(place.line);
}

std::string text_of(const FindingSide& side) {
  std::string text = side.action;
  if (side.action.empty() || !side.place.file.empty()) {
    text += (text.empty() ? "at " : " at ") + text_of(side.place);
  }
  if (side.is_in_kernel) text += " by thread " + text_of(side.thread) + " of block " + text_of(side.block);
  return text;
}

bool mentions(const Finding& finding, const char* words) { return finding.detail.find(words) != std::string::npos; }

// True for `sum += x` and the like, which read and write on one line.
bool is_update(const Finding& finding) {
  return finding.sides.size() == 2 && finding.sides[0].place.line != 0 &&
         finding.sides[0].place.line == finding.sides[1].place.line &&
         finding.sides[0].place.file == finding.sides[1].place.file;
}

bool has_action(const Finding& finding, const char* action) {
  for (const FindingSide& side : finding.sides) {
    if (side.action == action) return true;
  }
  return false;
}

bool waits_in_warp_operation(const Finding& finding) {
  for (const FindingSide& side : finding.sides) {
    if (side.action.find("with mask") != std::string::npos) return true;
  }
  return false;
}

std::string hint_of_race(const Finding& finding) {
  if (mentions(finding, "missed each other at a barrier")) {
    return "fix the divergent barrier first: it left these accesses unordered, so this race may disappear too.";
  }
  const bool is_one_block =
      finding.sides.size() == 2 && text_of(finding.sides[0].block) == text_of(finding.sides[1].block);
  if (has_action(finding, "atomic")) {
    return is_one_block ? "an atomic excludes only other atomics and orders nothing: put a __syncthreads() between the "
                          "two, or make the other access an atomic too."
                        : "an atomic excludes only other atomics and orders nothing: make the other access an atomic "
                          "too, put __threadfence() before the atomic, or move one of the two to a launch of its own.";
  }
  if (!is_one_block) {
    return "blocks of one launch run in any order and at the same time. If each block should have its own elements, "
           "check how blockIdx enters the index; otherwise use an atomic, or split the kernel into two launches.";
  }
  if (is_update(finding) && has_action(finding, "read")) {
    return "two threads update one value, and an update is two steps, a read and a write. If the threads meant "
           "different values, check the index; if one step should wait for another, put a __syncthreads() between "
           "them; otherwise use atomicAdd, or let one thread do it.";
  }
  if (has_action(finding, "read")) {
    return mentions(finding, "shared")
               ? "a __syncthreads() is missing between writing shared memory and reading what another thread wrote, or "
                 "between reading it and overwriting it."
               : "a __syncthreads() is missing between writing this memory and reading what another thread wrote.";
  }
  if (!is_update(finding)) {
    return "two threads write to one place: if one of the lines is meant to come first, put a __syncthreads() between "
           "them; otherwise check the index, or let one thread write, or use an atomic.";
  }
  return "two threads write to one place: check the index, or let one thread write, or use an atomic.";
}

std::string hint_of_uninitialised(const Finding& finding) {
  if (mentions(finding, "shared")) {
    return "shared memory holds leftovers when a block begins: check that every element is written before it is read, "
           "even in the last, partly filled tile.";
  }
  return "cudaMalloc does not clear memory: cudaMemset it, copy to it, or check the bounds of the kernel that should "
         "have written it.";
}

std::string hint_of_bounds(const Finding& finding) {
  if (mentions(finding, "array of type")) {
    return "the last index of a dimension is its size minus one: check the index, or declare the array larger (halos "
           "and borders need room).";
  }
  if (mentions(finding, "dynamic shared")) {
    return "the launch's third argument is the size of dynamic shared memory in bytes, not in elements; check it and "
           "the index.";
  }
  return "check the index, its guard (the last, partly filled block needs an if (i < n)), and the allocated size (in "
         "bytes).";
}

}  // namespace

const char* name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kRace:
      return "race";
    case FindingKind::kUninitialisedRead:
      return "uninitialised read";
    case FindingKind::kOutOfBounds:
      return "access out of bounds";
    case FindingKind::kUseAfterFree:
      return "use after free";
    case FindingKind::kHostPointer:
      return "host pointer";
    case FindingKind::kNullPointer:
      return "null pointer";
    case FindingKind::kMisaligned:
      return "misaligned access";
    case FindingKind::kMissingWait:
      return "missing wait for cp.async";
    case FindingKind::kUnfinishedProduct:
      return "missing wait for wgmma";
    case FindingKind::kMissingFence:
      return "missing fence";
    case FindingKind::kMisusedBarrier:
      return "misused mbarrier";
    case FindingKind::kDivergentBarrier:
      return "divergent barrier";
    case FindingKind::kDeadlock:
      return "deadlock";
    case FindingKind::kWrongMask:
      return "wrong mask";
    case FindingKind::kUndefinedLane:
      return "shuffle from a lane that takes no part";
    case FindingKind::kStackOverflow:
      return "stack overflow";
    case FindingKind::kException:
      return "exception";
    case FindingKind::kHostAccess:
      return "device memory used by host code";
    case FindingKind::kUnsynchronizedRead:
      return "result used before it is synchronized";
    case FindingKind::kChangedTooEarly:
      return "pinned memory changed before its copy";
    case FindingKind::kUnorderedStreams:
      return "streams without order";
    case FindingKind::kUnrecordedEvent:
      return "wait for an event never recorded";
    case FindingKind::kIntegerOverflow:
      return "integer overflow";
    case FindingKind::kBadLaunch:
      return "bad launch";
  }
  return "finding";
}

std::string hint_of(const Finding& finding) {
  switch (finding.kind) {
    case FindingKind::kRace:
      return hint_of_race(finding);
    case FindingKind::kUninitialisedRead:
      return hint_of_uninitialised(finding);
    case FindingKind::kOutOfBounds:
      return hint_of_bounds(finding);
    case FindingKind::kUseAfterFree:
      return "free memory only after the last kernel that uses it has finished.";
    case FindingKind::kHostPointer:
      return "pass a pointer from cudaMalloc: a kernel cannot reach the host's variables, arrays and vectors.";
    case FindingKind::kNullPointer:
      return "check the result of cudaMalloc, and that the pointer was set before the launch.";
    case FindingKind::kMisaligned:
      return "an access of 8 or 16 bytes (float2, float4) needs an address that is a multiple of its size: check the "
             "offset that was added before the cast.";
    case FindingKind::kMissingWait:
      return "before the read, commit the copies and wait for their group; then call __syncthreads() for the other "
             "threads. A copy that is counted by an mbarrier needs a wait for its phase.";
    case FindingKind::kUnfinishedProduct:
      return "a product goes on after its instruction: commit it, and wait for its group before the sums are used or "
             "the tiles are overwritten; other threads may rely on that only after __syncthreads() or an mbarrier.";
    case FindingKind::kMissingFence:
      return "copies and tensor cores see what a thread wrote to shared memory only after its fence.proxy.async, "
             "which comes before the barrier; sums need a wgmma.fence before the first product that adds to them.";
    case FindingKind::kMisusedBarrier:
      return "one thread initialises the mbarrier with the number of arrivals per phase; then a __syncthreads() lets "
             "the "
             "others use it. Wait for each phase before the next arrival.";
    case FindingKind::kDivergentBarrier:
      return "every thread of the block must reach the same __syncthreads(): move it out of the condition, and do not "
             "return before it.";
    case FindingKind::kDeadlock:
      return waits_in_warp_operation(finding)
                 ? "a warp operation waits for all lanes that its mask names: call it at a place that all of them "
                   "reach, outside branches that only some take, and let lanes without a value take part with a "
                   "neutral one."
                 : "each of these waits for threads that wait elsewhere or have ended.";
    case FindingKind::kWrongMask:
      return "the mask must name exactly the lanes that reach this call, including the caller.";
    case FindingKind::kUndefinedLane:
      return "the lane that is read must be in the mask and call the same shuffle: no lane may return, or take another "
             "branch, before it; lanes without a value of their own take part with a neutral one.";
    case FindingKind::kStackOverflow:
      return "large local arrays belong in shared or global memory.";
    case FindingKind::kException:
      return "device code cannot throw.";
    case FindingKind::kHostAccess:
      return "copy the data with cudaMemcpy first; only kernels can use device memory.";
    case FindingKind::kUnsynchronizedRead:
      return "wait first: cudaStreamSynchronize, cudaDeviceSynchronize or cudaEventSynchronize.";
    case FindingKind::kChangedTooEarly:
      return "a copy from pinned memory reads it only when its turn comes: wait for the copy (cudaEventSynchronize, "
             "cudaStreamSynchronize), or use a second buffer.";
    case FindingKind::kUnorderedStreams:
      return "record an event after the first of the two, and let the other's stream wait for it "
             "(cudaStreamWaitEvent), "
             "or use one stream. The default stream waits only for streams made without cudaStreamNonBlocking.";
    case FindingKind::kUnrecordedEvent:
      return "cudaStreamWaitEvent waits for the last cudaEventRecord of the event that the host has called before it: "
             "record first, then wait.";
    case FindingKind::kIntegerOverflow:
      return "compute in 64 bits: convert one operand before the operation (static_cast<std::size_t>(row) * columns).";
    case FindingKind::kBadLaunch:
      return "the kernel does not run, and only cudaGetLastError() says so: check the values between <<< and >>> "
             "(blocks, then threads per block); a division that rounds down may give 0 blocks.";
  }
  return "";
}

std::string to_text(const Finding& finding) {
  std::string text = std::string("emulated CUDA: ") + name_of(finding.kind);
  if (!finding.kernel.empty()) text += " in kernel " + finding.kernel;
  const char* separator = ": ";
  for (const FindingSide& side : finding.sides) {
    text += separator + text_of(side);
    separator = "\n  and ";
  }
  text += ": " + finding.detail + ".\n";
  const std::string hint = hint_of(finding);
  return hint.empty() ? text : text + "  hint: " + hint + "\n";
}

std::string summary_of(const std::vector<Finding>& findings) {
  if (findings.empty()) return "";
  std::ostringstream text;
  text << "emulated CUDA: " << findings.size() << (findings.size() == 1 ? " finding" : " findings")
       << " in this run:\n";
  for (const Finding& finding : findings) {
    text << "  " << name_of(finding.kind);
    if (!finding.kernel.empty()) text << " in kernel " << finding.kernel;
    const char* separator = " at ";
    for (const FindingSide& side : finding.sides) {
      text << separator << text_of(side.place);
      separator = " and ";
    }
    text << ", seen " << finding.count << (finding.count == 1 ? " time\n" : " times\n");
  }
  return text.str();
}

}  // namespace lockstep::emulator
