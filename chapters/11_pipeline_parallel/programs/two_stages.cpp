// two_stages: z = tanh(x A) B cut in two by hand: rank 0 has A, rank 1 has B. The ranks are threads. First the batch goes
// forward and back as a whole (often called model parallelism), then in micro-batches. Gradients are compared with the
// uncut model's, and idle time is measured. Letters: R rows of x, C channels, H hidden ones, D of z; m micro-batches. The
// loss is half the sum of z's squares: its gradient d_z is z.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <deque>
#include <future>
#include <iostream>
#include <thread>
#include <vector>

#include "base/command_line.hpp"
#include "base/philox.hpp"
#include "base/terminal.hpp"

namespace {

struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> elements = std::vector<double>(static_cast<std::size_t>(rows * columns));
};

Matrix random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  lockstep::PhiloxSequence random(seed);
  Matrix matrix{rows, columns};
  for (double& element : matrix.elements) element = (random.next_word() * 0x1p-32 - 0.5) / 4;
  return matrix;
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result{a.rows, b.columns};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t j = 0; j < b.columns; ++j) result.elements[i * b.columns + j] += a.elements[i * a.columns + k] * b.elements[k * b.columns + j];
  return result;
}

Matrix transposed(const Matrix& a) {
  Matrix result{a.columns, a.rows};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) result.elements[j * a.rows + i] = a.elements[i * a.columns + j];
  return result;
}

// Micro-batch i of m: some of the rows.
Matrix part_of(const Matrix& x, int i, int m) {
  const std::int64_t begin = x.rows * i / m, end = x.rows * (i + 1) / m;
  return {end - begin, x.columns, {x.elements.begin() + begin * x.columns, x.elements.begin() + end * x.columns}};
}

void add(Matrix& sum, const Matrix& term) {
  for (std::size_t i = 0; i < sum.elements.size(); ++i) sum.elements[i] += term.elements[i];
}

Matrix tanh_of(Matrix a) {
  for (double& element : a.elements) element = std::tanh(element);
  return a;
}

// d_hidden times tanh's derivative, 1 - hidden^2.
Matrix through_tanh(Matrix d_hidden, const Matrix& hidden) {
  for (std::size_t i = 0; i < hidden.elements.size(); ++i) d_hidden.elements[i] *= 1 - hidden.elements[i] * hidden.elements[i];
  return d_hidden;
}

double difference(const Matrix& a, const Matrix& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.elements.size(); ++i) largest = std::max(largest, std::abs(a.elements[i] - b.elements[i]));
  return largest;
}

// CLOCK_THREAD_CPUTIME_ID shows how long the calling thread has computed: waiting does not count.
double milliseconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

struct Rank {
  Matrix weights, gradient = {weights.rows, weights.columns};
  std::size_t most_held = 1;  // micro-batches whose hidden channels wait for their backward pass
  double busy = 0;  // ms, without waiting
};

using Link = std::vector<std::promise<Matrix>>;  // by micro-batch; the sender does not wait

// Before it waits for the gradient of a micro-batch it sends the next one, so that rank 1 has work meanwhile.
void run_rank_0(Rank& rank, const Matrix& x, int m, Link& to_1, Link& from_1) {
  std::deque<Matrix> held;
  const auto forward = [&](int i) {
    held.push_back(tanh_of(product(part_of(x, i, m), rank.weights)));  // [R/m, H]
    rank.most_held = std::max(rank.most_held, held.size());
    to_1[i].set_value(held.back());
  };
  forward(0);
  for (int i = 0; i < m; ++i) {
    if (i + 1 < m) forward(i + 1);
    const Matrix d_hidden = through_tanh(from_1[i].get_future().get(), held.front());  // [R/m, H]
    add(rank.gradient, product(transposed(part_of(x, i, m)), d_hidden));  // [C, H]
    held.pop_front();
  }
  rank.busy = milliseconds_of(CLOCK_THREAD_CPUTIME_ID);
}

// It has the loss, so each backward pass can follow its forward pass.
void run_rank_1(Rank& rank, int m, Link& from_0, Link& to_0) {
  for (int i = 0; i < m; ++i) {
    const Matrix hidden = from_0[i].get_future().get();  // [R/m, H]
    const Matrix z = product(hidden, rank.weights);  // [R/m, D]
    add(rank.gradient, product(transposed(hidden), z));  // [H, D]
    to_0[i].set_value(product(z, transposed(rank.weights)));  // [R/m, H]
  }
  rank.busy = milliseconds_of(CLOCK_THREAD_CPUTIME_ID);
}

int run(int m) {
  constexpr std::int64_t R = 768, C = 384, H = 256, D = 256;  // 2 C = 3 D: both ranks have as much to do
  const Matrix x = random_matrix(R, C, 1), a = random_matrix(C, H, 2), b = random_matrix(H, D, 3);
  const Matrix hidden = tanh_of(product(x, a)), z = product(hidden, b), d_b = product(transposed(hidden), z),
               d_a = product(transposed(x), through_tanh(product(z, transposed(b)), hidden));
  std::cout << "rank 0 has A [" << C << ", " << H << "], rank 1 has B [" << H << ", " << D << "]; a batch of " << R << " rows\n";
  double worst = 0;
  for (const int parts : {1, m}) {
    Rank ranks[2] = {{a}, {b}};
    Link forward(static_cast<std::size_t>(parts)), backward(static_cast<std::size_t>(parts));
    const double begin = milliseconds_of(CLOCK_MONOTONIC);
    std::thread rank_1([&] { run_rank_1(ranks[1], parts, forward, backward); });
    std::thread([&] { run_rank_0(ranks[0], x, parts, forward, backward); }).join();
    rank_1.join();
    const double duration = milliseconds_of(CLOCK_MONOTONIC) - begin;
    std::cout << "micro-batches: " << parts << ", " << lockstep::with_digits(duration, 0) << " ms\n";
    for (const Rank& rank : ranks)
      std::cout << "  rank " << &rank - ranks << " idle " << lockstep::with_digits(100 - 100 * rank.busy / duration, 0) << " %, holding " << rank.most_held << " at most\n";
    worst = std::max({worst, difference(ranks[0].gradient, d_a), difference(ranks[1].gradient, d_b)});
  }
  std::cout << "largest difference from the uncut model's gradients: " << worst << "\n";
  return worst < 1e-12 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  lockstep::CommandLine app("Trains an MLP that is cut between two ranks, as a whole batch and in micro-batches");
  int micro_batches = 8;
  app.add_option("--micro-batches", micro_batches, "Parts of the batch").check(lockstep::whole_number(1, 768));
  return lockstep::run_main(app, argc, argv, [&] { return run(micro_batches); });
}
