// A judged program that does what it is asked to, however bad.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <thread>

#include "exercise/kernel_findings.hpp"
#include "exercise/subject.hpp"
#include "exercise/todo.hpp"

namespace lockstep::exercise {
namespace {

[[gnu::noinline]] void loop_forever() {
  volatile bool is_running = true;
  while (is_running) continue;
}

[[gnu::noinline]] void write_through_null() {
  volatile int* volatile nothing = nullptr;
  *nothing = 1;
}

volatile bool has_returned = false;

// The call returns to an instruction of the next line.
[[gnu::noinline]] void call_and_go_on() {
  write_through_null();
  has_returned = true;
}

void receive_from_next(Question& question) {
  float value = 0;
  question.link((question.rank() + 1) % question.world_size()).receive(std::span(&value, 1));
}

void move_slowly(Question& question) {
  Link& other = question.link(1 - question.rank());
  for (float value = 0;; value += 1) {
    exchange(other, std::span<const float>(&value, 1), other, std::span(&value, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// Every rank sends two floats, and waits for five.
void expect_too_much(Question& question) {
  std::vector<float> sent(2), received(5);
  Link none(UniqueFd(), -1, nullptr);
  Link& other = question.world_size() == 1 ? none : question.link(1 - question.rank());
  exchange(other, sent, other, received);
}

constexpr Mistake kMistakes[] = {{"zero", "the result is 0", ""}, {"infinity", "the result is infinite", ""}};

double result() {
  if (is_mistake("infinity")) return std::numeric_limits<double>::infinity();
  return is_mistake("zero") ? 0 : 1;
}

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

Answer answer(Question& question) {
  const std::string what = question.get<std::string>("what");
  std::cout << "about to " << what << std::endl;
  if (what == "loop") loop_forever();
  if (what == "write through null" && question.rank() == 0) call_and_go_on();
  if (what == "throw" && question.rank() == 0) throw std::runtime_error("the sky is green");
  if (what == "exit" && question.rank() == 0) std::exit(0);
  if (what == "receive first") receive_from_next(question);
  if (what == "expect too much") expect_too_much(question);
  if (what == "connect to itself") question.link(question.rank()).close();
  if (what == "move slowly") move_slowly(question);
  if (what == "leave" && question.rank() == 1) receive_from_next(question);
  if (what == "race")
    throw KernelFault({{"RACE", "race in kernel sum", "race", {{"sum.cu", 2}}, "its words\n", "a hint"}});
  if (what == "do nothing yet") todo("99.9 everything");
  Answer answer;
  if (what == "start a process") {
    const pid_t child = ::fork();
    if (child == 0) ::sleep(1000);
    answer.set("child", static_cast<int>(child));
  }
  answer.set("rank", question.rank());
  const double number = result();
  answer.set_numbers<double>("result", std::span(&number, 1));
  answer.remark("sum.cu:2  loads");
  return answer;
}

}  // namespace lockstep::exercise
