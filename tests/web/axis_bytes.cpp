// axis_bytes: what the solution of exercise 12.3 predicts, for grid.test.js. Each stage has a line, with the bytes that
// its ranks send on the tensor, the data and the pipeline axis:
//   stage 0: 1152 848 208
#include <cstdint>
#include <iostream>

#include "12_three_dimensions/3_bytes_by_axis/bytes_by_axis.hpp"
#include "base/command_line.hpp"

int main(int argc, char** argv) {
  using namespace lockstep;
  CommandLine app("Predicts the bytes that a rank of each stage sends on each axis in a step");
  bytes_by_axis::GridRun run;
  const auto positive = whole_number(1);
  app.add_option("--pipeline", run.pipeline, "Ranks along the pipeline").check(positive);
  app.add_option("--data", run.data, "Ranks along the data axis").check(positive);
  app.add_option("--tensor", run.tensor, "Ranks along the tensor axis").check(positive);
  app.add_option("--blocks", run.blocks, "Blocks of the model").check(positive);
  app.add_option("--rows", run.rows, "Positions of all samples of a micro-batch").check(positive);
  app.add_option("--channels", run.channels, "Channels").check(positive);
  app.add_option("--vocabulary", run.vocabulary, "Rows of the token table").check(positive);
  app.add_option("--micro-batches", run.micro_batches, "Micro-batches of a step").check(positive);
  return run_main(app, argc, argv, [&] {
    for (std::int64_t stage = 0; stage < run.pipeline; ++stage) {
      const bytes_by_axis::BytesByAxis sent = bytes_by_axis::bytes_sent(run, stage);
      std::cout << "stage " << stage << ": " << sent.tensor << ' ' << sent.data << ' ' << sent.pipeline << '\n';
    }
    return 0;
  });
}
