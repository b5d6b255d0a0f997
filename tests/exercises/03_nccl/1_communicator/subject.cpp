#include "exercise/subject.hpp"

#include "03_nccl/1_communicator/communicator.hpp"
#include "exercises/03_nccl/nccl_rank.hpp"
#include "exercises/03_nccl/recorded_calls.hpp"

namespace lockstep::exercise {

// Reduces "values" as many times as "times" says. With "is_host_memory", which NCCL refuses, reports what was thrown.
Answer answer(Question& question) {
  const std::vector<float> values = question.numbers<float>("values");
  const nccl::Place place{.rank = question.rank(), .world_size = question.world_size(), .link = [&](int peer) -> Link& {
                            return question.link(peer);
                          }};
  const TrialStream stream;
  Answer result;
  if (question.get<bool>("is_host_memory")) {
    std::vector<float> host = values;
    std::string thrown;
    try {
      nccl::all_reduce_once(host.data(), host.size(), place, stream.handle());
    } catch (const ContractError& error) {
      thrown = error.what();
    }
    result.set<std::string>("thrown", thrown);
    return result;
  }
  const DeviceFloats device(values);
  {
    CallRecorder recorder(question.progress());
    for (int i = 0; i < question.get<int>("times"); ++i)
      nccl::all_reduce_once(device.data(), device.count(), place, stream.handle());
    recorder.report(result);
    bool is_in_stream = true;
    int joined_as = -1;
    for (const RecordedCall& call : recorder.calls()) {
      if (call.name == "ncclAllReduce") is_in_stream = is_in_stream && call.stream == stream.handle();
      if (call.name.starts_with("ncclCommInitRank")) joined_as = call.peer;
    }
    result.set<int>("joined_as", joined_as);
    result.set<bool>("is_in_stream", is_in_stream);
  }
  result.set_numbers<float>("values", device.values_after(stream.handle()));
  return result;
}

}  // namespace lockstep::exercise
