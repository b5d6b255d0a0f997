// client <rank>: sends [1, 2, 3] x (rank + 1) to the server and receives the sum over all clients.
#include <array>
#include <iostream>

#include "01_mini_all_reduce/mini_all_reduce.hpp"
#include "base/command_line.hpp"

int main(int argc, char** argv) {
  lockstep::CommandLine app("Sends [1, 2, 3] x (rank + 1) to the server and receives the sum over all clients");
  lockstep::star::MiniOptions options;
  int rank = 0;
  double timeout_seconds = 60;
  app.add_option("rank", rank, "This client's number, from 0").required();
  app.add_option("--port", options.address.port, "The server's port on 127.0.0.1")
      .check(lockstep::whole_number(1, 65535));
  app.add_option("--timeout", timeout_seconds, "Seconds to wait for the server and for the sum")
      .check(lockstep::positive_seconds());
  return lockstep::run_main(app, argc, argv, [&] {
    options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000));
    const auto factor = static_cast<float>(rank + 1);
    const std::array<float, 3> values{1 * factor, 2 * factor, 3 * factor};
    (void)lockstep::star::contribute(rank, values, options, std::cout);
    return 0;
  });
}
