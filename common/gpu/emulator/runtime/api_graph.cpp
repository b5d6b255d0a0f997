#include "emulator/cuda/lockstep_emulator/api_graph.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "emulator/runtime/api_call.hpp"
#include "emulator/runtime/capture.hpp"
#include "emulator/runtime/handles.hpp"

// The operations of a graph.
struct CUgraph_st {
  lockstep::emulator::RecordedOperations operations;
};
// A copy of them.
struct CUgraphExec_st {
  lockstep::emulator::RecordedOperations operations;
  lockstep::emulator::Point last_launch{};  // its end
};

namespace {

using namespace lockstep::emulator;

// All live graphs.
struct Graphs {
  std::mutex mutex;
  std::map<cudaGraph_t, std::unique_ptr<CUgraph_st>> graphs;
  std::map<cudaGraphExec_t, std::unique_ptr<CUgraphExec_st>> executables;
};

Graphs& graphs() {
  static auto* const kGraphs = new Graphs;  // NOLINT: never destroyed, for calls of other threads at exit
  return *kGraphs;
}

cudaGraph_t add_graph(RecordedOperations operations) {
  auto graph = std::make_unique<CUgraph_st>(CUgraph_st{std::move(operations)});
  const cudaGraph_t handle = graph.get();
  const std::scoped_lock lock(graphs().mutex);
  graphs().graphs[handle] = std::move(graph);
  return handle;
}

// A copy of a graph's operations.
RecordedOperations operations_of(cudaGraph_t graph) {
  const std::scoped_lock lock(graphs().mutex);
  api_require(graphs().graphs.contains(graph), cudaErrorInvalidValue,
              "the graph was never made, or has been destroyed");
  return graph->operations;
}

// Calls use(executable) under the lock.
template <typename Use>
void with_executable(cudaGraphExec_t executable, const Use& use) {
  const std::scoped_lock lock(graphs().mutex);
  api_require(graphs().executables.contains(executable), cudaErrorInvalidValue,
              "the executable graph was never made, or has been destroyed");
  use(*executable);
}

// Issues the operations after the executable's last launch, whatever stream that was in: CUDA Runtime API,
// cudaGraphLaunch.
void launch(CUgraphExec_st& executable, const std::shared_ptr<StreamQueue>& queue) {
  bool is_first = !is_captured(*queue);  // a captured launch becomes part of another graph
  for (Operation operation : executable.operations) {
    if (std::exchange(is_first, false)) operation.waits.push_back(executable.last_launch);
    const Point end = issue(queue, std::move(operation));
    if (end.queue != nullptr) executable.last_launch = end;
  }
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return api_call("cudaStreamBeginCapture", ApiNeeds::kWorkingDevice,
                  [&] { begin_capture(*Handles::instance().queue(stream), mode); });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api_call("cudaThreadExchangeStreamCaptureMode", ApiNeeds::kDevice, [&] {
    api_require(mode != nullptr && *mode >= cudaStreamCaptureModeGlobal && *mode <= cudaStreamCaptureModeRelaxed,
                cudaErrorInvalidValue, "the pointer to the mode is null, or there is no such mode");
    *mode = exchange_capture_mode(*mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return api_call("cudaStreamEndCapture", ApiNeeds::kWorkingDevice, [&] {
    api_require(graph != nullptr, cudaErrorInvalidValue, "the pointer to the graph is null");
    *graph = nullptr;
    *graph = add_graph(end_capture(*Handles::instance().queue(stream)));
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return api_call("cudaStreamIsCapturing", ApiNeeds::kDevice, [&] {
    api_require(status != nullptr, cudaErrorInvalidValue, "the pointer to the status is null");
    *status = capture_status(*Handles::instance().queue(stream));
  });
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  return api_call("cudaGraphCreate", ApiNeeds::kDevice, [&] {
    api_require(graph != nullptr && flags == 0, cudaErrorInvalidValue, "the pointer is null, or flags are not 0");
    *graph = add_graph({});
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api_call("cudaGraphDestroy", ApiNeeds::kDevice, [&] {
    const std::scoped_lock lock(graphs().mutex);
    api_require(graphs().graphs.erase(graph) == 1, cudaErrorInvalidValue,
                "the graph was never made, or has been destroyed");
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return api_call("cudaGraphGetNodes", ApiNeeds::kDevice, [&] {
    api_require(nodes == nullptr && count != nullptr, cudaErrorNotSupported,
                "the emulator only counts nodes: pass null for them");
    *count = operations_of(graph).size();
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return api_call("cudaGraphInstantiate", ApiNeeds::kDevice, [&] {
    api_require(executable != nullptr, cudaErrorInvalidValue, "the pointer to the executable graph is null");
    auto made = std::make_unique<CUgraphExec_st>(CUgraphExec_st{operations_of(graph)});
    *executable = made.get();
    const std::scoped_lock lock(graphs().mutex);
    graphs().executables[*executable] = std::move(made);
  });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  return api_call("cudaGraphExecUpdate", ApiNeeds::kDevice, [&] {
    RecordedOperations after = operations_of(graph);
    const auto is_alike = [](const Operation& a, const Operation& b) { return std::string_view(a.name) == b.name; };
    with_executable(executable, [&](CUgraphExec_st& updated) {
      const bool is_same = std::ranges::equal(updated.operations, after, is_alike);
      if (info != nullptr) {
        *info = {is_same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged, nullptr, nullptr};
      }
      api_require(is_same, cudaErrorGraphExecUpdateFailure, "the graph has other operations: instantiate it instead");
      updated.operations = std::move(after);
    });
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return api_call("cudaGraphLaunch", ApiNeeds::kWorkingDevice, [&] {
    const auto queue = Handles::instance().queue(stream);
    with_executable(executable, [&](CUgraphExec_st& launched) { launch(launched, queue); });
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t) {
  return api_call("cudaGraphUpload", ApiNeeds::kWorkingDevice,
                  [&] { with_executable(executable, [](const CUgraphExec_st&) {}); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return api_call("cudaGraphExecDestroy", ApiNeeds::kDevice, [&] {
    const std::scoped_lock lock(graphs().mutex);
    api_require(graphs().executables.erase(executable) == 1, cudaErrorInvalidValue,
                "the executable graph was never made, or has been destroyed");
  });
}
