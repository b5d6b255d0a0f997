// ring_steps: the ring all-reduce without sockets. Prints, after every step, whose contributions each rank holds in
// each chunk. Rank r contributes 8^r, so the digits of a sum in base 8 say how often each rank has been counted: the
// table shows real sums, not the algorithm's intention.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "02_ring_all_reduce/ring_schedule.hpp"
#include "base/command_line.hpp"
#include "base/terminal.hpp"

namespace {

using namespace lockstep::ring;

using Table = std::vector<std::vector<std::int64_t>>;  // [rank][chunk]: the rank's sum for that chunk

std::int64_t contribution_of(int rank) { return std::int64_t{1} << (3 * rank); }  // 8^rank

// How often `rank` has been counted in `sum`: digit `rank` in base 8.
int times_counted(std::int64_t sum, int rank) { return static_cast<int>((sum >> (3 * rank)) & 7); }

// "012.": ranks 0, 1 and 2 are counted once, rank 3 is missing. A rank that is counted twice shows as '!'.
std::string decoded(std::int64_t sum, int world_size) {
  std::string text;
  for (int rank = 0; rank < world_size; ++rank) {
    const int times = times_counted(sum, rank);
    text += times == 0 ? '.' : times == 1 ? static_cast<char>('0' + rank)
                                          : '!';
  }
  return text;
}

// All ranks send one chunk to the next rank at the same moment, so all chunks are read before any is written.
Table after_step(const Table& before, int step, bool is_reduce_scatter) {
  const int world_size = static_cast<int>(before.size());
  Table after = before;
  for (int rank = 0; rank < world_size; ++rank) {
    const int receiver = next_of(rank, world_size);
    if (is_reduce_scatter) {
      const int chunk = reduce_scatter_sends(rank, step, world_size);
      after[receiver][chunk] += before[rank][chunk];
    } else {
      const int chunk = all_gather_sends(rank, step, world_size);
      after[receiver][chunk] = before[rank][chunk];
    }
  }
  return after;
}

// One colour per rank, readable on dark and light 256-colour terminals.
constexpr std::array<int, 8> kColourOfRank = {203, 172, 71, 37, 75, 141, 205, 136};

class Printer {
 public:
  Printer(int world_size, bool use_colour) : world_size_(world_size), use_colour_(use_colour) {}

  // Marks the cells that differ from `before` with '>'. In colour, every digit has its rank's colour, and a complete
  // chunk is bold.
  void print(const std::string& title, const Table& table, const Table& before) const {
    std::cout << '\n'
              << title << "\n      ";
    for (int chunk = 0; chunk < world_size_; ++chunk) {
      const std::string name = "chunk " + std::to_string(chunk);
      std::cout << gap() << ' ' << name << padding(name.size(), chunk);
    }
    std::cout << '\n';
    for (int rank = 0; rank < world_size_; ++rank) {
      std::cout << "rank " << rank;
      for (int chunk = 0; chunk < world_size_; ++chunk) {
        print_cell(table[rank][chunk], table[rank][chunk] != before[rank][chunk], chunk);
      }
      std::cout << '\n';
    }
  }

 private:
  // So that eight ranks fit into 80 columns.
  std::string gap() const { return world_size_ < 8 ? " " : ""; }

  // Pads a column to the width of "chunk 0" or a cell; the last column gets no padding.
  std::string padding(std::size_t used, int chunk) const {
    const auto width = static_cast<std::size_t>(std::max(7, world_size_));
    return std::string(chunk == world_size_ - 1 ? 0 : width - used, ' ');
  }

  void print_cell(std::int64_t sum, bool is_new, int chunk) const {
    const std::string text = decoded(sum, world_size_);
    std::cout << gap() << (is_new ? '>' : ' ') << (use_colour_ ? coloured(text) : text) << padding(text.size(), chunk);
  }

  static std::string coloured(const std::string& text) {
    const std::string weight = text.find('.') == std::string::npos ? "1;" : "";
    std::string result;
    for (const char digit : text) {
      const bool is_rank = digit >= '0' && digit <= '7';
      const std::string colour = is_rank ? "38;5;" + std::to_string(kColourOfRank[digit - '0']) : "2";
      result += "\033[" + weight + colour + 'm' + digit + "\033[0m";
    }
    return result;
  }

  int world_size_;
  bool use_colour_;
};

// Waits until the reader is done with this step; end of input also counts.
void wait_for_enter() {
  std::cout << "(Enter: next step) " << std::flush;
  std::cin.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
}

void run(int world_size, bool use_colour, bool shall_pause) {
  const Printer printer(world_size, use_colour);
  Table table(world_size);
  for (int rank = 0; rank < world_size; ++rank) table[rank].assign(world_size, contribution_of(rank));
  std::cout << world_size << " ranks; the buffer is cut into " << world_size
            << " chunks. A cell shows whose values are summed\nin it, rank by rank: '.' is a rank that is missing, "
            << "'>' marks what is new.\n";
  printer.print("start: every rank has only its own values", table, table);

  for (const bool is_reduce_scatter : {true, false}) {
    for (int step = 0; step < world_size - 1; ++step) {
      if (shall_pause) wait_for_enter();
      const Table before = table;
      table = after_step(before, step, is_reduce_scatter);
      const std::string title = is_reduce_scatter ? "reduce-scatter, step " : "all-gather, step ";
      printer.print(title + std::to_string(step + 1) + " of " + std::to_string(world_size - 1), table, before);
    }
  }
  const int steps = 2 * (world_size - 1);
  std::cout << '\n'
            << steps << " steps; each rank sent " << steps << " chunks of 1/" << world_size
            << " of the buffer: " << steps << '/' << world_size << " of its bytes.\n";
}

}  // namespace

int main(int argc, char** argv) {
  lockstep::CommandLine app("Prints the ring all-reduce step by step");
  int world_size = 4;
  bool use_colour = lockstep::wants_colours(STDOUT_FILENO), shall_pause = false;
  app.add_option("--world-size", world_size, "Number of ranks, 1 to 8").check(lockstep::whole_number(1, 8));
  app.add_flag("--color,!--no-color", use_colour, "Colours (default: if the output is a terminal)");
  app.add_flag("--pause", shall_pause, "Waits for Enter before each step");
  return lockstep::run_main(app, argc, argv, [&] {
    run(world_size, use_colour, shall_pause);
    return 0;
  });
}
