// main() of every judged program: the learner's, the solution's and the bank's.
#include <execinfo.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <typeinfo>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "exercise/alternatives.hpp"
#include "exercise/kernel_findings.hpp"
#include "exercise/message.hpp"
#include "exercise/subject.hpp"
#include "exercise/todo.hpp"
#include "exercise/trial_layout.hpp"

namespace lockstep::exercise {
namespace {

std::string chosen;  // from the bank or the alternatives: each program has one of the two

// The instruction that the signal interrupted; null on an unknown processor.
const void* interrupted_at(const void* context) {
  [[maybe_unused]] const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.pc);
#else
  return nullptr;
#endif
}

// Calls only async-signal-safe functions. All frames but the interrupted one hold a return address, which may belong to
// the next line: the byte before it belongs to the call.
void write_stack(const void* interrupted) {
  std::array<void*, 48> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    void* place = frames[i] == interrupted ? frames[i] : static_cast<char*>(frames[i]) - 1;
    (void)!::write(STDERR_FILENO, kStackMark, std::strlen(kStackMark));
    ::backtrace_symbols_fd(&place, 1, STDERR_FILENO);
  }
}

void on_stack_signal(int, siginfo_t*, void* context) { write_stack(interrupted_at(context)); }

void on_crash(int signal, siginfo_t*, void* context) {
  write_stack(interrupted_at(context));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void install_handlers() {
  static std::array<char, 1 << 16> stack{};  // after a stack overflow the normal stack has no room
  const stack_t alternate{stack.data(), 0, stack.size()};
  ::sigaltstack(&alternate, nullptr);
  std::array<void*, 1> first{};
  ::backtrace(first.data(), 1);  // loads its library now; a handler must not
  struct sigaction action {};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  action.sa_sigaction = on_stack_signal;
  ::sigaction(kStackSignal, &action, nullptr);
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
  action.sa_sigaction = on_crash;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

nlohmann::json read_question() {
  MessageReader reader;
  while (true) {
    pollfd readable{kControlFd, POLLIN, 0};
    ::poll(&readable, 1, -1);
    const bool is_open = reader.read_from(kControlFd);
    if (auto message = reader.take()) return *message;
    if (!is_open) throw IoError("the judge has gone", 0);
  }
}

nlohmann::json describe_variants() {
  nlohmann::json list = nlohmann::json::array();
  for (const Alternative& alternative : alternatives())
    list.push_back({{"name", alternative.name}, {"what", alternative.what}});
  for (const Mistake& mistake : mistakes())
    list.push_back({{"name", mistake.name}, {"description", mistake.description}, {"advice", mistake.advice}});
  return list;
}

nlohmann::json ask(const nlohmann::json& question_message, const ProgressBoard& board) {
  try {
    Question question(question_message, board);
    question.progress().state = RankState::kComputing;
    const Answer given = answer(question);
    question.progress().state = RankState::kFinished;
    return {{"values", given.message()}, {"remarks", given.remarks()}};
  } catch (const TodoError& error) {
    return {{"todo", error.what()}};
  } catch (const KernelFault& fault) {
    return {{"findings", to_message(fault.findings())}};
  } catch (const std::exception& error) {
    return {{"exception", error.what()}};
  }
}

int serve() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends this process if the judge is killed
  install_handlers();
  const nlohmann::json question = read_question();
  chosen = question.value("mistake", "");
  if (question.contains("list")) {
    send_message(kControlFd, describe_variants());
    return 0;
  }
  const nlohmann::json reply = ask(question, ProgressBoard::open(kBoardFd));
  std::cout << std::flush;
  std::fflush(nullptr);  // its output arrives before its answer, so that a verdict can always show it
  send_message(kControlFd, reply);
  return 0;
}

}  // namespace

bool is_mistake(std::string_view name) { return chosen == name; }
bool is_alternative(std::string_view name) { return chosen == name; }

}  // namespace lockstep::exercise

int main() {
  if (!lockstep::environment::get(lockstep::exercise::kRankVariable)) {
    std::cerr << "This program holds an exercise's code for the judge: run ./lockstep check\n";
    return 2;
  }
  return lockstep::exercise::serve();
}
