#include "exercise/subject.hpp"

#include <chrono>
#include <thread>

#include "03_nccl/2_abort/abort.hpp"
#include "03_nccl/nccl_check.hpp"
#include "exercises/03_nccl/nccl_rank.hpp"
#include "exercises/03_nccl/recorded_calls.hpp"

namespace lockstep::exercise {
namespace {

using std::chrono::milliseconds;

// The last rank's behaviour. The late one looks only once the collective is done.
enum class Conduct : int { kComesLate, kVanishes, kStaysAway };

// One byte from and to every rank.
void meet(Question& question, int until) {
  std::byte token{};
  for (int peer = 0; peer < until; ++peer)
    if (peer != question.rank()) question.link(peer).send(std::span(&token, 1));
  for (int peer = 0; peer < until; ++peer)
    if (peer != question.rank()) question.link(peer).receive(std::span(&token, 1));
}

// The result of a call of the learner's function.
struct Ending {
  std::string thrown;      // IoError, TimeoutError, or empty: it returned
  bool has_words = false;  // NCCL's, in the message of an IoError
  int aborts = 0;          // calls of ncclCommAbort()
  bool is_early = false;   // a TimeoutError before the deadline
  bool is_done = false;    // the collective, where it returned
};

// Whether a message contains NCCL's text for an error.
bool names_an_error(const std::string& message) {
  for (int code = ncclSuccess + 1; code < ncclNumResults; ++code)
    if (code != ncclInProgress &&
        message.find(ncclGetErrorString(static_cast<ncclResult_t>(code))) != std::string::npos)
      return true;
  return false;
}

// Until the last call of a communicator whose calls do not wait is done.
void settle(ncclComm_t communicator) {
  for (ncclResult_t state = ncclInProgress; state == ncclInProgress;) {
    nccl::nccl_check(ncclCommGetAsyncError(communicator, &state), "ncclCommGetAsyncError");
    std::this_thread::sleep_for(milliseconds(1));
  }
}

Ending call(Question& question, ncclComm_t communicator, cudaEvent_t done, cudaStream_t stream) {
  const auto limit = milliseconds(question.get<int>("limit_ms"));
  const Deadline deadline = Deadline::after(limit);
  if (question.rank() == question.world_size() - 1) cudaStreamSynchronize(stream);
  if (question.get<bool>("looks_late")) std::this_thread::sleep_for(limit);
  const CallRecorder recorder(question.progress());
  Ending ending;
  try {
    const ProgressEntry entry(&question.progress(), RankState::kCollective, -1, 0, {}, "wait_or_abort");
    nccl::wait_or_abort(communicator, done, deadline);
  } catch (const IoError& error) {
    ending.thrown = "IoError";
    ending.has_words = names_an_error(error.what());
  } catch (const TimeoutError&) {
    ending.thrown = "TimeoutError";
    ending.is_early = !deadline.has_expired();
  }
  for (const RecordedCall& each : recorder.calls()) ending.aborts += each.name == "ncclCommAbort" ? 1 : 0;
  ending.is_done = ending.thrown.empty() && cudaEventQuery(done) == cudaSuccess;  // an abort ends it at some time
  return ending;
}

}  // namespace

Answer answer(Question& question) {
  const auto conduct = static_cast<Conduct>(question.get<int>("conduct"));
  const bool is_last = question.world_size() > 1 && question.rank() == question.world_size() - 1;
  const bool is_busy = question.get<bool>("is_busy");
  ncclComm_t const communicator = join_all_ranks(question, !is_busy);
  const TrialStream stream;
  const DeviceFloats values(question.numbers<float>("values"));
  Answer result;
  if (is_last && conduct >= Conduct::kVanishes) {
    if (conduct == Conduct::kStaysAway) meet(question, question.world_size());  // until the others have given up
    ncclCommAbort(communicator);
    return result;
  }
  if (is_last) std::this_thread::sleep_for(milliseconds(300));
  cudaEvent_t done = nullptr;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  nccl::nccl_check(
      ncclAllReduce(values.data(), values.data(), values.count(), ncclFloat32, ncclSum, communicator, stream.handle()),
      "ncclAllReduce");
  settle(communicator);
  cudaEventRecord(done, stream.handle());
  if (is_busy) nccl::nccl_check(ncclCommFinalize(communicator), "ncclCommFinalize");  // in progress until all is done
  const Ending ending = call(question, communicator, done, stream.handle());
  if (conduct == Conduct::kStaysAway) meet(question, question.world_size());
  result.set<std::string>("thrown", ending.thrown);
  result.set<bool>("has_words", ending.has_words);
  result.set<int>("aborts", ending.aborts);
  result.set<bool>("is_early", ending.is_early);
  result.set<bool>("is_done", ending.is_done);
  if (conduct == Conduct::kComesLate && ending.aborts == 0) {
    result.set_numbers<float>("values", values.values_after(stream.handle()));
    settle(communicator);
    nccl::nccl_check(ncclCommDestroy(communicator), "ncclCommDestroy");
  } else if (ending.aborts == 0) {
    ncclCommAbort(communicator);  // which the judge will say was missing
  }
  cudaEventDestroy(done);
  return result;
}

}  // namespace lockstep::exercise
