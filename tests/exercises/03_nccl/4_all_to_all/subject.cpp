#include "exercise/subject.hpp"

#include <string>

#include "03_nccl/4_all_to_all/all_to_all.hpp"
#include "exercises/03_nccl/nccl_rank.hpp"
#include "exercises/03_nccl/recorded_calls.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::size_t kRoomBehind = 1000;

std::vector<std::size_t> counts_in(const Question& question, const char* name) {
  const auto numbers = question.numbers<std::int64_t>(name);
  return {numbers.begin(), numbers.end()};
}

// Bytes that all calls of a name move to or from each rank.
std::vector<std::int64_t> bytes_by_peer(const CallRecorder& recorder, const char* name, std::size_t ranks) {
  std::vector<std::int64_t> bytes(ranks);
  for (const RecordedCall& call : recorder.calls())
    if (call.name == name && call.peer >= 0 && call.peer < static_cast<int>(ranks))
      bytes[static_cast<std::size_t>(call.peer)] += static_cast<std::int64_t>(call.bytes);
  return bytes;
}

// The record for the judge. The order of sends, receives and the copy is free.
void report(const CallRecorder& recorder, int rank, cudaStream_t stream, Answer& answer) {
  std::string host_waits;
  bool copies_own_part = false;
  std::int64_t groups = 0;
  std::string in_other_stream;
  for (const RecordedCall& call : recorder.calls()) {
    if (call.name == "ncclGroupStart") ++groups;
    if (call.name.ends_with("Synchronize") || call.name == "cudaMemcpy") host_waits = call.name;
    if (call.name == "ncclSend" || call.name == "ncclRecv" || call.name == "cudaMemcpyAsync")
      if (call.stream != stream && in_other_stream != "ncclSend") in_other_stream = call.name;
    const bool is_copy = call.name.starts_with("cudaMemcpy") || (call.name == "ncclSend" && call.peer == rank);
    copies_own_part = copies_own_part || is_copy;
  }
  answer.set<bool>("copies_own_part", copies_own_part);
  answer.set<std::int64_t>("groups", groups);
  answer.set<std::string>("host_waits", host_waits);
  answer.set<std::string>("in_other_stream", in_other_stream);
}

// Thrown by the function for memory that NCCL refuses.
Answer try_host_memory(const Question& question, ncclComm_t communicator, cudaStream_t stream) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(question.world_size()), 1);
  counts[static_cast<std::size_t>(question.rank())] = 0;  // so that it is not the copy that is refused
  const std::vector<float> in(counts.size());
  std::vector<float> out(counts.size());
  bool has_thrown = false;
  try {
    nccl::all_to_all({out.data(), counts}, {in.data(), counts}, question.rank(), communicator, stream);
  } catch (const Error&) {
    has_thrown = true;
  }
  Answer result;
  result.set<bool>("has_thrown", has_thrown);
  return result;
}

bool are_all(Question& question, bool holds) {
  for (int peer = 0; peer < question.world_size(); ++peer)
    if (peer != question.rank()) question.link(peer).send_some(std::as_bytes(std::span(&holds, 1)));
  bool all = holds;
  for (int peer = 0; peer < question.world_size(); ++peer) {
    bool theirs = true;
    if (peer != question.rank()) question.link(peer).receive(std::as_writable_bytes(std::span(&theirs, 1)));
    all = all && theirs;
  }
  return all;
}

bool is_as_asked(const std::vector<std::int64_t>& bytes, const std::vector<std::size_t>& counts, int rank) {
  for (std::size_t peer = 0; peer < counts.size(); ++peer)
    if (static_cast<int>(peer) != rank && bytes[peer] != static_cast<std::int64_t>(counts[peer] * sizeof(float)))
      return false;
  return true;
}

}  // namespace

// Element i of the part for rank p is "first" of p + i % 50. Reports every "stride"-th element of what came. Both
// arrays have more memory behind them, so that parts in wrong places are seen as such.
Answer answer(Question& question) {
  const std::vector<std::size_t> sent = counts_in(question, "sent"), received = counts_in(question, "received");
  const std::vector<float> first = question.numbers<float>("first");
  std::vector<float> values;
  for (std::size_t part = 0; part < sent.size(); ++part)
    for (std::size_t i = 0; i < sent[part]; ++i) values.push_back(first[part] + static_cast<float>(i % 50));
  values.resize(values.size() + kRoomBehind, -2);
  std::size_t total = 0;
  for (const std::size_t count : received) total += count;

  ncclComm_t const communicator = join_all_ranks(question);
  const TrialStream stream;
  if (question.get<bool>("is_host_memory")) return try_host_memory(question, communicator, stream.handle());
  const DeviceFloats in(values), out(std::vector<float>(total + kRoomBehind, -1));
  Answer result;
  std::vector<float> came, reported;
  {
    CallRecorder recorder(question.progress());
    nccl::all_to_all({out.data(), received}, {in.data(), sent}, question.rank(), communicator, stream.handle());
    report(recorder, question.rank(), stream.handle(), result);
    const auto to = bytes_by_peer(recorder, "ncclSend", sent.size());
    const auto from = bytes_by_peer(recorder, "ncclRecv", sent.size());
    result.set_numbers<std::int64_t>("bytes_to", to);
    result.set_numbers<std::int64_t>("bytes_from", from);
    // Lengths that do not fit together can wait forever: the judge says more about them than about a hang.
    if (!are_all(question, is_as_asked(to, sent, question.rank()) && is_as_asked(from, received, question.rank()))) {
      nccl::nccl_check(ncclCommAbort(communicator), "ncclCommAbort");
      return result;
    }
    came = out.values_after(stream.handle());
  }
  const auto stride = static_cast<std::size_t>(question.get<std::int64_t>("stride"));
  for (std::size_t i = 0; i < total; i += stride) reported.push_back(came[i]);
  result.set_numbers<float>("out", reported);
  nccl::nccl_check(ncclCommDestroy(communicator), "ncclCommDestroy");
  return result;
}

}  // namespace lockstep::exercise
