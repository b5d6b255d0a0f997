// column_row: z = tanh(x A) B with both matrices cut among ranks, by hand: A by columns, B by rows. Forward and backward
// need one all-reduce each. Everything is compared with the uncut product.
//
// Letters: R rows of x, C channels, H hidden ones. The loss is half the sum of z's squares: its gradient d_z is z.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "base/command_line.hpp"
#include "base/philox.hpp"

namespace {

struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> elements = std::vector<double>(static_cast<std::size_t>(rows * columns));
  [[nodiscard]] double at(std::int64_t row, std::int64_t column) const { return elements[row * columns + column]; }
};

Matrix made(std::int64_t rows, std::int64_t columns, const std::function<double(std::int64_t, std::int64_t)>& element) {
  Matrix matrix{rows, columns};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t k = 0; k < columns; ++k) matrix.elements[i * columns + k] = element(i, k);
  }
  return matrix;
}

Matrix random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  lockstep::PhiloxSequence random(seed);
  return made(rows, columns, [&](auto, auto) { return random.next_word() * 0x1p-32 - 0.5; });
}

Matrix product(const Matrix& a, const Matrix& b) {
  return made(a.rows, b.columns, [&](std::int64_t row, std::int64_t column) {
    double sum = 0;
    for (std::int64_t k = 0; k < a.columns; ++k) sum += a.at(row, k) * b.at(k, column);
    return sum;
  });
}

Matrix transposed(const Matrix& a) {
  return made(a.columns, a.rows, [&](auto row, auto column) { return a.at(column, row); });
}

Matrix columns_of(const Matrix& a, std::int64_t begin, std::int64_t end) {
  return made(a.rows, end - begin, [&](auto row, auto column) { return a.at(row, begin + column); });
}

Matrix rows_of(const Matrix& a, std::int64_t begin, std::int64_t end) {
  return transposed(columns_of(transposed(a), begin, end));
}

// A rank's columns of A and rows of B, and the matrices that it computes with them.
struct Rank {
  std::int64_t begin, end;  // of the hidden channels
  Matrix a, b;  // [C, H/t], [H/t, C]
  Matrix hidden = {}, d_a = {}, d_b = {};  // [R, H/t], and as a and b
};

struct Cost {
  std::int64_t all_reduces = 0, bytes_sent = 0;  // by each rank
};

// Gives every rank the sum of all ranks' matrices.
Matrix all_reduce(const std::vector<Matrix>& parts, Cost& cost) {
  Matrix sum = parts.front();
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    for (std::size_t i = 0; i < sum.elements.size(); ++i) sum.elements[i] += parts[rank].elements[i];
  }
  const auto ranks = static_cast<std::int64_t>(parts.size()), bytes = sum.rows * sum.columns * 8;
  cost.bytes_sent += 2 * (ranks - 1) * bytes / ranks;  // in a ring, chapter 02
  ++cost.all_reduces;
  return sum;
}

// Elements are independent of each other, so a rank needs no other's.
Matrix tanh_of(const Matrix& a) {
  return made(a.rows, a.columns, [&](auto row, auto column) { return std::tanh(a.at(row, column)); });
}

// d_hidden times tanh's derivative, 1 - hidden^2.
Matrix through_tanh(const Matrix& d_hidden, const Matrix& hidden) {
  return made(hidden.rows, hidden.columns, [&](auto row, auto column) {
    return d_hidden.at(row, column) * (1 - hidden.at(row, column) * hidden.at(row, column));
  });
}

// This rank's part of z. x is whole on every rank.
Matrix forward(Rank& rank, const Matrix& x) {
  rank.hidden = tanh_of(product(x, rank.a));  // [R, H/t]: some columns, finished
  return product(rank.hidden, rank.b);  // [R, C]: all elements, each a part of a sum
}

// This rank's part of d_x. d_z is whole on every rank.
Matrix backward(Rank& rank, const Matrix& x, const Matrix& d_z) {
  rank.d_b = product(transposed(rank.hidden), d_z);  // [H/t, C]: finished
  const Matrix d_y = through_tanh(product(d_z, transposed(rank.b)), rank.hidden);  // [R, H/t]: finished
  rank.d_a = product(transposed(x), d_y);  // [C, H/t]: finished
  return product(d_y, transposed(rank.a));  // [R, C]: all elements, each a part of a sum
}

double difference(const Matrix& a, const Matrix& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.elements.size(); ++i) largest = std::max(largest, std::abs(a.elements[i] - b.elements[i]));
  return largest;
}

int run(std::int64_t rank_count) {
  constexpr std::int64_t R = 6, C = 8, H = 32;
  const Matrix x = random_matrix(R, C, 1), a = random_matrix(C, H, 2), b = random_matrix(H, C, 3);
  Rank whole{0, H, a, b};
  const Matrix z = forward(whole, x), d_x = backward(whole, x, z);
  std::cout << "x [" << R << ", " << C << "] is on every rank\n";
  std::vector<Rank> ranks;
  for (std::int64_t r = 0; r < rank_count; ++r) {
    const std::int64_t begin = H * r / rank_count, end = H * (r + 1) / rank_count;
    ranks.push_back({begin, end, columns_of(a, begin, end), rows_of(b, begin, end)});
    std::cout << "rank " << r << ": columns " << begin << " to " << end - 1 << " of A, the same rows of B\n";
  }
  Cost forward_cost, backward_cost;
  std::vector<Matrix> parts, d_parts;
  for (Rank& rank : ranks) parts.push_back(forward(rank, x));
  const Matrix sum = all_reduce(parts, forward_cost);
  for (Rank& rank : ranks) d_parts.push_back(backward(rank, x, sum));
  const Matrix d_sum = all_reduce(d_parts, backward_cost);

  double worst = std::max(difference(sum, z), difference(d_sum, d_x));
  for (const Rank& rank : ranks) {
    worst = std::max({worst, difference(rank.d_a, columns_of(whole.d_a, rank.begin, rank.end)),
                      difference(rank.d_b, rows_of(whole.d_b, rank.begin, rank.end))});
  }
  std::cout << "forward:  " << forward_cost.all_reduces << " all-reduce (z), " << forward_cost.bytes_sent << " bytes sent by each rank\n"
            << "backward: " << backward_cost.all_reduces << " all-reduce (d_x), " << backward_cost.bytes_sent << " bytes sent by each rank\n"
            << "not sent: d_A [" << C << ", " << H << "] and d_B [" << H << ", " << C << "]; each rank has those of its own part\n"
            << "largest difference from the uncut product: " << worst << "\n";
  return worst < 1e-12 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  lockstep::CommandLine app("Cuts two matrices among ranks, by columns and by rows, and compares with the uncut product");
  std::int64_t ranks = 4;
  app.add_option("--ranks", ranks, "Number of ranks, 1 to 32").check(lockstep::whole_number(1, 32));
  return lockstep::run_main(app, argc, argv, [&] { return run(ranks); });
}
