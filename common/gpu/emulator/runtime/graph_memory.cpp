#include "emulator/runtime/graph_memory.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "emulator/checker/shadow.hpp"
#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/capture.hpp"

namespace lockstep::emulator {
namespace {

// A block that belongs to the recorded operations, all of which hold this.
struct GraphMemory {
  explicit GraphMemory(const Allocation& owned) : block(owned) {}
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();

  const Allocation& block;
  std::atomic<bool> has_free{false};  // an operation frees it
};

struct GraphBlocks {
  std::mutex mutex;
  std::map<const Allocation*, std::weak_ptr<GraphMemory>> all;
};

GraphBlocks& graph_blocks() {
  static auto* const kBlocks = new GraphBlocks;  // NOLINT: never destroyed, for operations of other threads at exit
  return *kBlocks;
}

GraphMemory::~GraphMemory() {
  {
    const std::scoped_lock lock(graph_blocks().mutex);
    graph_blocks().all.erase(&block);
  }
  if (!block.is_freed) DeviceMemory::instance().free(block.begin);  // cudaDeviceReset frees it too
}

std::shared_ptr<GraphMemory> graph_memory_of(const Allocation& block) {
  const std::scoped_lock lock(graph_blocks().mutex);
  const auto found = graph_blocks().all.find(&block);
  return found == graph_blocks().all.end() ? nullptr : found->second.lock();
}

// Each launch allocates and frees anew: before and after, the contents are arbitrary.
Operation memory_operation(const char* name, SourcePlace place, const std::shared_ptr<GraphMemory>& memory) {
  Operation operation;
  operation.name = name;
  operation.place = place;
  operation.run = [memory] {
    forget(memory->block.begin, memory->block.bytes);
    return cudaSuccess;
  };
  return operation;
}

}  // namespace

void record_allocation(const std::shared_ptr<StreamQueue>& queue, const Allocation& block, SourcePlace place) {
  const auto memory = std::make_shared<GraphMemory>(block);
  {
    const std::scoped_lock lock(graph_blocks().mutex);
    graph_blocks().all[&block] = memory;
  }
  issue(queue, memory_operation("cudaMallocAsync", place, memory));
}

void record_free(const std::shared_ptr<StreamQueue>& queue, const Allocation& block, SourcePlace place) {
  const auto memory = graph_memory_of(block);
  api_require(memory != nullptr, cudaErrorInvalidValue,
              "the stream is captured, and a graph can free only what cudaMallocAsync allocates in a captured stream: "
              "free this memory outside the capture");
  api_require(!memory->has_free.exchange(true), cudaErrorInvalidValue, "the graph frees this memory already");
  Operation free = memory_operation("cudaFreeAsync", place, memory);
  free.accesses.push_back({block.begin, block.bytes, true});
  issue(queue, std::move(free));
}

void refuse_graph_memory(const Allocation& block) {
  api_require(
      graph_memory_of(block) == nullptr, cudaErrorNotSupported,
      "the memory belongs to a graph, and in the emulator only the graph can free it: call cudaFreeAsync in the "
      "captured stream");
}

}  // namespace lockstep::emulator
