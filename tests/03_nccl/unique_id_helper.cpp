// unique_id_helper, under `lockstep launch`: every rank prints the unique id that it has got, as hexadecimal digits.
// With NVIDIA's library too this needs no GPU: an id is made by the host.
#include <iostream>

#include "03_nccl/group/communicator.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"

int main() {
  using namespace lockstep;
  return run_guarded("unique_id_helper", [] {
    const comm::JobContext job = comm::rendezvous("env://");
    const ncclUniqueId id = nccl::exchange_unique_id(job, "test/", Deadline::after(job.limits.join));
    std::string digits;
    for (const char byte : id.internal) {
      const auto value = static_cast<unsigned char>(byte);
      digits += concat("0123456789abcdef"[value / 16], "0123456789abcdef"[value % 16]);
    }
    std::cout << "id " << digits << std::endl;
    return 0;
  });
}
