// zero_steps: one training step of ZeRO, stage 1, without sockets. Prints after each of its four moves which rank holds
// what of a model that is cut into one part for each rank. Rank r's gradient is 8^r, as in ring_steps of chapter 02, so
// that the digits of a sum in base 8 say which ranks are counted in it. A value is the number of its updates.
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "base/command_line.hpp"

namespace {

// By part: what a rank holds of each.
struct Rank {
  std::vector<std::int64_t> gradients;
  std::vector<int> values;  // how often it has been updated
  std::vector<int> moments;  // the same; an element for each part that the rank has moments of
};

// "01.3": ranks 0, 1 and 3 are counted once. A rank that is counted more often shows as '!'.
std::string decoded(std::int64_t sum, int world_size) {
  std::string text;
  for (int rank = 0; rank < world_size; ++rank) {
    const auto times = (sum >> (3 * rank)) & 7;
    text += times == 0 ? '.' : times == 1 ? static_cast<char>('0' + rank)
                                          : '!';
  }
  return text;
}

std::string row_of_numbers(int count, std::size_t width) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + std::string(width, ' ');
  return text;
}

void print(const std::string& title, const std::vector<Rank>& ranks) {
  const int world_size = static_cast<int>(ranks.size());
  const auto wide = ranks.size();
  std::cout << "\n"
            << title << "\n  part  " << row_of_numbers(world_size, wide) << "   "
            << row_of_numbers(world_size, 1) << "   moments\n";
  for (int r = 0; r < world_size; ++r) {
    std::cout << "rank " << r << "  ";
    for (const std::int64_t sum : ranks[r].gradients) std::cout << decoded(sum, world_size) << ' ';
    std::cout << "   ";
    for (const int updates : ranks[r].values) std::cout << updates << ' ';
    std::cout << "   of part " << r << ": " << ranks[r].moments.at(0) << '\n';
  }
}

// Part p of the sum over all ranks goes to rank p. The other parts of its gradients are of no more use.
void reduce_scatter(std::vector<Rank>& ranks) {
  std::vector<std::int64_t> sums(ranks.size());
  for (const Rank& rank : ranks) {
    for (std::size_t part = 0; part < sums.size(); ++part) sums[part] += rank.gradients[part];
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t part = 0; part < sums.size(); ++part) ranks[r].gradients[part] = part == r ? sums[part] : 0;
  }
}

// Every rank's optimizer has one parameter: its own part.
void update(std::vector<Rank>& ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ++ranks[r].moments[0];
    ++ranks[r].values[r];
  }
}

// Every rank gets part p from rank p, which has updated it.
void all_gather(std::vector<Rank>& ranks) {
  for (Rank& rank : ranks) {
    for (std::size_t part = 0; part < ranks.size(); ++part) rank.values[part] = ranks[part].values[part];
  }
}

void run(int world_size) {
  std::vector<Rank> ranks;
  for (int r = 0; r < world_size; ++r) {
    const auto parts = static_cast<std::size_t>(world_size);
    ranks.push_back({std::vector<std::int64_t>(parts, std::int64_t{1} << (3 * r)), std::vector<int>(parts), {0}});
  }
  std::cout << world_size << " ranks; the model is cut into " << world_size << " parts, and rank r owns part r.\n"
            << "On the left: whose gradients a rank has for each part ('.': a rank is missing).\n"
            << "In the middle: how often the values that it has of each part were updated.\n";
  print("1. backward: every rank has all gradients, of its own samples", ranks);
  reduce_scatter(ranks);
  print("2. reduce-scatter: every rank has the gradients of all ranks, of its own part", ranks);
  update(ranks);
  print("3. update: every rank has new values and moments, of its own part", ranks);
  all_gather(ranks);
  print("4. all-gather: every rank has all new values", ranks);
  std::cout << "\nEach rank sent " << world_size - 1 << "/" << world_size << " of the gradients and " << world_size - 1
            << "/" << world_size << " of the values:\nas much as an all-reduce of the gradients.\n"
            << "It keeps moments for 1/" << world_size << " of the model.\n";
}

}  // namespace

int main(int argc, char** argv) {
  lockstep::CommandLine app("Prints a training step of ZeRO, stage 1, move by move");
  int world_size = 4;
  app.add_option("--world-size", world_size, "Number of ranks, 1 to 8").check(lockstep::whole_number(1, 8));
  return lockstep::run_main(app, argc, argv, [&] {
    run(world_size);
    return 0;
  });
}
