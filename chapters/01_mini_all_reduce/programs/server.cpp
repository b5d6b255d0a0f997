// server: sums the values of four clients, like naive_server, without that one's faults.
#include <iostream>

#include "01_mini_all_reduce/mini_all_reduce.hpp"
#include "base/command_line.hpp"

int main(int argc, char** argv) {
  lockstep::CommandLine app("Sums [1, 2, 3] x (rank + 1) over all clients, once, and sends the sum to each of them");
  lockstep::star::MiniOptions options;
  double timeout_seconds = 60;
  app.add_option("--port", options.address.port, "Port on 127.0.0.1; 0 for a free one")
      .check(lockstep::whole_number(0, 65535));
  app.add_option("--world-size", options.world_size, "Clients to wait for")
      .check(lockstep::whole_number(1, 64));
  app.add_option("--count", options.count, "Values from each client")
      .check(lockstep::whole_number(1, 262144));
  app.add_option("--timeout", timeout_seconds, "Seconds for the whole sum")
      .check(lockstep::positive_seconds());
  return lockstep::run_main(app, argc, argv, [&] {
    options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000));
    lockstep::star::MiniServer(options, std::cout).run();
    return 0;
  });
}
