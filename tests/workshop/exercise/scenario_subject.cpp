// A judged program that misbehaves on request.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "exercise/kernel_findings.hpp"
#include "exercise/subject.hpp"
#include "exercise/todo.hpp"
#include "exercise/trial_layout.hpp"

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

// Replaces main(): answers with two million empty maps, a byte each.
void answer_many_values() {
  std::vector<std::uint8_t> message = {0xa1, 0x66, 'v', 'a', 'l', 'u', 'e', 's', 0x9a, 0, 0x1e, 0x84, 0x80};
  message.resize(message.size() + 2'000'000, 0xa0);
  const std::uint64_t length = message.size();
  (void)!::write(kControlFd, &length, sizeof length);
  for (std::size_t at = 0; at < message.size();) {
    const ssize_t count = ::write(kControlFd, message.data() + at, message.size() - at);
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
  }
  ::sleep(1000);
}

std::string open_descriptors() {
  std::string numbers;
  for (int fd = 0; fd < 1000; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) numbers += (numbers.empty() ? "" : " ") + std::to_string(fd);
  return numbers;
}

volatile bool has_returned = false;

// The call returns to an instruction of the next line.
[[gnu::noinline]] void call_and_go_on() {
  write_through_null();
  has_returned = true;
}

// 64 MB, or without end.
void print_much(bool has_end) {
  const std::string much(1 << 20, 'x');
  for (int i = 0; !has_end || i < 64; ++i) std::cout << much << std::flush;
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
  if (what == "throw a long text") throw std::runtime_error("\033[2J" + std::string(50 << 20, 'x'));
  if (what == "name a verdict") throw KernelFault({{question.get<std::string>("verdict"), "", "", {}, "", ""}});
  if (what == "answer many values") answer_many_values();
  if (what == "print much" || what == "print without end") print_much(what == "print much");
  if (what == "do nothing yet") todo("99.9 everything");
  Answer answer;
  if (what == "start a process") {
    const pid_t child = ::fork();
    if (child == 0) ::sleep(1000);
    answer.set("child", static_cast<int>(child));
  }
  if (what == "list descriptors") answer.set("descriptors", open_descriptors());
  answer.set("rank", question.rank());
  const double number = result();
  answer.set_numbers<double>("result", std::span(&number, 1));
  answer.remark("sum.cu:2  loads");
  return answer;
}

}  // namespace lockstep::exercise
