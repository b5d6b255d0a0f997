// The meaning of environments, right ones and wrong ones, as tables. No process's own variables are touched.
#include "comm/joining/job_environment.hpp"

#include <map>

#include "base/error.hpp"
#include "comm/joining/init_method.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

using Variables = std::map<std::string, std::string>;

comm::VariableLookup lookup_in(const Variables& variables) {
  return [&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
  };
}

// "rank 1 of 4, local 1 of 2, at host:29500", or the error.
std::string meaning_of(const std::string& init_method, const Variables& variables) {
  try {
    const comm::Membership member = comm::read_membership(init_method, {}, lookup_in(variables));
    const std::string place = !member.store_file.empty() ? member.store_file.string()
                              : member.running_store     ? concat("store ", member.running_store->text())
                              : member.world_size > 1    ? member.store.text()
                                                         : "nowhere";
    return concat("rank ", member.rank, " of ", member.world_size, ", local ", member.local_rank, " of ",
                  member.local_world_size, ", at ", place);
  } catch (const FormatError& error) {
    return error.what();
  }
}

struct Row {
  const char* what;
  std::string init_method;
  Variables variables;
  std::string meaning;  // all of a right one's, part of a wrong one's
};

const Variables kMaster{{"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}};

Variables with_master(Variables variables) {
  variables.insert(kMaster.begin(), kMaster.end());
  return variables;
}

const Variables kOpenMpi{{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Variables kSlurm{{"SLURM_PROCID", "3"},
                       {"SLURM_NTASKS", "5"},
                       {"SLURM_LOCALID", "1"},
                       {"SLURM_NODEID", "1"},
                       {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                       {"SLURM_STEP_NODELIST", "node[07-09]"},
                       {"SLURM_NODELIST", "login"},
                       {"SLURM_JOB_ID", "100"},
                       {"SLURM_STEP_ID", "2"}};

Variables changed(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

}  // namespace

TEST_CASE("every launcher's variables say the same thing in their own words", "[comm]") {
  const std::vector<Row> rows = {
      {"torchrun", "env://",
       with_master({{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}}),
       "rank 1 of 4, local 1 of 2, at host:29500"},
      {"by hand, one host", "env://", with_master({{"RANK", "1"}, {"WORLD_SIZE", "2"}}),
       "rank 1 of 2, local 1 of 2, at host:29500"},
      {"torchrun keeps MASTER_PORT for itself", "env://",
       with_master({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "x"}}),
       "rank 0 of 2, local 0 of 2, at host:29501"},
      {"LOCKSTEP_PORT wins", "env://",
       with_master({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "x"}, {"LOCKSTEP_PORT", "4000"}}),
       "rank 0 of 2, local 0 of 2, at host:4000"},
      {"a store that runs",
       "env://",
       {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCKSTEP_STORE", "h:1"}},
       "rank 0 of 2, local 0 of 2, at store h:1"},
      {"Open MPI on two hosts", "env://", with_master(kOpenMpi), "rank 3 of 4, local 1 of 2, at host:29500"},
      {"Open MPI on one host needs no more",
       "env://",
       {{"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "2"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
        {"PMIX_NAMESPACE", "a"}},
       "rank 1 of 2, local 1 of 2, at 127.0.0.1:21996"},  // FNV-1a 64 of "a" is 0xaf63dc4c8601ec8c; 12000 + that modulo
                                                          // 16000
      {"PMI", "env://",
       with_master({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "1"}}),
       "rank 2 of 3, local 0 of 1, at host:29500"},
      {"Slurm", "env://", kSlurm, "rank 3 of 5, local 1 of 2, at node07:15102"},  // 12000 + 100 * 31 + 2
      {"Slurm, MASTER_ADDR wins", "env://", with_master(kSlurm), "rank 3 of 5, local 1 of 2, at host:29500"},
      {"Slurm on one host", "env://",
       changed(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "5"}, {"SLURM_NODEID", "0"}, {"SLURM_STEP_ID", "0"}}),
       "rank 3 of 5, local 1 of 5, at 127.0.0.1:15100"},
      {"a step of Slurm with fewer tasks than its job", "env://",
       changed(kSlurm, {{"SLURM_NTASKS", "64"}, {"SLURM_STEP_NUM_TASKS", "5"}}),
       "rank 3 of 5, local 1 of 2, at node07:15102"},
      {"RANK by hand in an interactive shell of Slurm", "env://",
       with_master(changed(kSlurm, {{"SLURM_STEP_ID", "4294967290"}, {"RANK", "0"}, {"WORLD_SIZE", "2"}})),
       "rank 0 of 2, local 0 of 2, at host:29500"},
      {"mpirun in an interactive shell of Slurm", "env://",
       with_master(changed(changed(kSlurm, {{"SLURM_STEP_ID", "4294967290"}}), kOpenMpi)),
       "rank 3 of 4, local 1 of 2, at host:29500"},
      {"RANK goes before the others", "env://",
       with_master(changed(kSlurm, {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "0"}})),
       "rank 0 of 2, local 0 of 2, at host:29500"},
      {"mpirun inside a Slurm job goes before Slurm", "env://", with_master(changed(kSlurm, kOpenMpi)),
       "rank 3 of 4, local 1 of 2, at host:29500"},
      {"torchrun started by mpirun may differ from it", "env://",
       with_master(changed(kOpenMpi, {{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"TORCHELASTIC_RUN_ID", "x"}})),
       "rank 9 of 16, local 9 of 16, at host:29501"},
      {"an address", "tcp://[::1]:5000?rank=1&world_size=2", {}, "rank 1 of 2, local 1 of 2, at [::1]:5000"},
      {"an address, ranks of the environment", "tcp://host:5000", kOpenMpi, "rank 3 of 4, local 1 of 2, at host:5000"},
      {"a file", "file:///tmp/meet?world_size=2&rank=0", {}, "rank 0 of 2, local 0 of 2, at /tmp/meet"},
      {"a file, ranks of the environment", "file:///tmp/meet", kSlurm, "rank 3 of 5, local 1 of 2, at /tmp/meet"},
      {"one rank", "env://", {{"RANK", "0"}, {"WORLD_SIZE", "1"}}, "rank 0 of 1, local 0 of 1, at nowhere"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(meaning_of(row.init_method, row.variables) == row.meaning);
  }
}

TEST_CASE("every wrong environment has an error of its own that names the variables", "[comm]") {
  const Variables plain = with_master({{"RANK", "1"}, {"WORLD_SIZE", "4"}});
  const std::vector<Row> rows = {
      {"nothing", "env://", {}, "the variable RANK is not set; start the program with"},
      {"no rank", "env://", {{"WORLD_SIZE", "2"}}, "the variable RANK is not set"},
      {"no world size", "env://", {{"RANK", "0"}}, "RANK=0 is set, but the variable WORLD_SIZE is not set"},
      {"rank is no number", "env://", changed(plain, {{"RANK", "x"}}), "RANK=x is not an integer"},
      {"rank is half a number", "env://", changed(plain, {{"RANK", "1.5"}}), "RANK=1.5 is not an integer"},
      {"rank is too large for a number", "env://", changed(plain, {{"RANK", "99999999999999999999"}}), "RANK=9999999"},
      {"rank is negative", "env://", changed(plain, {{"RANK", "-1"}}), "RANK=-1 is not an integer from 0"},
      {"rank is out of range", "env://", changed(plain, {{"RANK", "4"}}), "rank 4 is out of range: with WORLD_SIZE=4"},
      {"world size 0", "env://", changed(plain, {{"WORLD_SIZE", "0"}}), "WORLD_SIZE=0 is not an integer from 1"},
      {"local rank is no number", "env://", changed(plain, {{"LOCAL_RANK", "a"}}), "LOCAL_RANK=a"},
      {"local rank is out of range", "env://", changed(plain, {{"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}}),
       "LOCAL_RANK=2 is out of range: with LOCAL_WORLD_SIZE=2"},
      {"more local ranks than ranks", "env://", changed(plain, {{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "5"}}),
       "LOCAL_WORLD_SIZE=5 is out of range: the job has 4 ranks"},
      {"no local rank", "env://", changed(plain, {{"LOCAL_WORLD_SIZE", "2"}}),
       "LOCAL_WORLD_SIZE=2 is set, but the variable LOCAL_RANK is not set"},
      {"no host", "env://", changed(plain, {{"MASTER_ADDR", ""}}), "the variable MASTER_ADDR is not set"},
      {"no port", "env://", changed(plain, {{"MASTER_PORT", ""}}), "the variable MASTER_PORT is not set"},
      {"port is no number", "env://", changed(plain, {{"MASTER_PORT", "29500 "}}), "MASTER_PORT=29500  is not"},
      {"port out of range", "env://", changed(plain, {{"MASTER_PORT", "65536"}}), "MASTER_PORT=65536 is not"},
      {"no port after torchrun's", "env://", changed(plain, {{"MASTER_PORT", "65535"}, {"TORCHELASTIC_RUN_ID", "x"}}),
       "MASTER_PORT=65535 leaves no port"},
      {"a malformed port of ours", "env://", changed(plain, {{"LOCKSTEP_PORT", "p"}}), "LOCKSTEP_PORT=p"},
      {"a malformed store", "env://", changed(plain, {{"LOCKSTEP_STORE", "h"}}), "'h' is not host:port"},
      {"a malformed generation", "env://", changed(plain, {{"LOCKSTEP_GENERATION", "-1"}}), "LOCKSTEP_GENERATION=-1"},
      {"RANK for all of an mpirun", "env://", changed(kOpenMpi, plain),
       "RANK=1 and OMPI_COMM_WORLD_RANK=3 contradict each other; unset RANK to join as Open MPI says"},
      {"WORLD_SIZE unlike mpirun's", "env://", changed(kOpenMpi, {{"WORLD_SIZE", "2"}}),
       "WORLD_SIZE=2 and OMPI_COMM_WORLD_SIZE=4 contradict each other"},
      {"RANK unlike PMI's", "env://", changed(plain, {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}),
       "RANK=1 and PMI_RANK=0 contradict each other"},
      {"Open MPI without size", "env://", changed(kOpenMpi, {{"OMPI_COMM_WORLD_SIZE", ""}}),
       "OMPI_COMM_WORLD_RANK=3 is set, but the variable OMPI_COMM_WORLD_SIZE is not set"},
      {"Open MPI on two hosts without a host", "env://", kOpenMpi, "the variable MASTER_ADDR is not set"},
      {"a malformed variable of PMI", "env://", {{"PMI_RANK", "one"}, {"PMI_SIZE", "2"}}, "PMI_RANK=one"},
      {"Slurm without tasks", "env://", changed(kSlurm, {{"SLURM_NTASKS", ""}}),
       "SLURM_PROCID=3 is set, but the variable SLURM_NTASKS is not set"},
      {"Slurm's nodes cannot be read", "env://", changed(kSlurm, {{"SLURM_STEP_NODELIST", "node[1"}}), "'node[1'"},
      {"Slurm's tasks cannot be read", "env://", changed(kSlurm, {{"SLURM_STEP_TASKS_PER_NODE", "2(x"}}), "'2(x'"},
      {"Slurm's tasks end before this node", "env://", changed(kSlurm, {{"SLURM_NODEID", "3"}}),
       "do not tell of node 3"},
      {"Slurm without a job number", "env://", changed(kSlurm, {{"SLURM_JOB_ID", ""}}), "MASTER_PORT is not set"},
      {"no such init method", "mpi://", plain, "neither env:// nor tcp://host:port nor file:///path"},
      {"env:// with more behind it", "env://host", plain, "neither env://"},
      {"an address without a port", "tcp://host?rank=0&world_size=2", {}, "'host' is not host:port"},
      {"an address with port 0", "tcp://host:0?rank=0&world_size=2", {}, "ranks cannot meet at port 0"},
      {"an address without ranks", "tcp://host:1", {}, "rank is not given; add ?rank=R&world_size=N"},
      {"an address without a world size", "tcp://host:1?rank=0", {}, "world_size is not given"},
      {"an unknown part", "tcp://host:1?rank=0&size=2", {}, "'size=2' is neither rank=R nor world_size=N"},
      {"a part twice", "tcp://host:1?rank=0&rank=1", {}, "rank is given twice"},
      {"a rank that is none", "tcp://host:1?rank=&world_size=2", {}, "rank= is not an integer"},
      {"a rank out of range", "tcp://host:1?rank=2&world_size=2", {}, "rank 2 is out of range"},
      {"no ranks at all", "tcp://host:1?rank=0&world_size=0", {}, "world size 0 is less than 1"},
      {"more ranks than there can be", "tcp://host:1?rank=0&world_size=65537", {}, "world size 65537 is more than"},
      {"a file somewhere", "file://meet?rank=0&world_size=2", {}, "not an absolute path of a file"},
      {"no file", "file:///?rank=0&world_size=2", {}, "not an absolute path of a file"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK_THAT(meaning_of(row.init_method, row.variables), ContainsSubstring(row.meaning));
  }
}

TEST_CASE("what Slurm has not started as a step of its own is no rank of the job", "[comm]") {
  const std::vector<Row> rows = {
      {"by hand in an interactive shell of Slurm", "env://", changed(kSlurm, {{"SLURM_STEP_ID", "4294967290"}}),
       "the variable RANK is not set; start the program with"},
      {"by hand in a batch script of Slurm", "env://", changed(kSlurm, {{"SLURM_STEP_ID", "4294967291"}}),
       "the variable RANK is not set; start the program with"},
      {"by hand in a job of Slurm without a step", "env://", changed(kSlurm, {{"SLURM_STEP_ID", ""}}),
       "the variable RANK is not set; start the program with"},
      {"a step of Slurm that is no number", "env://", changed(kSlurm, {{"SLURM_STEP_ID", "batch"}}),
       "SLURM_STEP_ID=batch"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK_THAT(meaning_of(row.init_method, row.variables), ContainsSubstring(row.meaning));
  }
}

TEST_CASE("MASTER_ADDR with more than a host is refused with what to write", "[comm]") {
  const Variables plain = with_master({{"RANK", "1"}, {"WORLD_SIZE", "4"}});
  const std::vector<Row> rows = {
      {"a port in MASTER_ADDR", "env://", changed(plain, {{"MASTER_ADDR", "node7:29500"}}),
       "MASTER_ADDR=node7:29500 is more than a host; write MASTER_ADDR=node7 and MASTER_PORT=29500"},
      {"a port behind a number in MASTER_ADDR", "env://", changed(plain, {{"MASTER_ADDR", "10.0.0.1:29500"}}),
       "write MASTER_ADDR=10.0.0.1 and MASTER_PORT=29500"},
      {"a port behind an IPv6 address in MASTER_ADDR", "env://", changed(plain, {{"MASTER_ADDR", "[fd00::1]:29500"}}),
       "write MASTER_ADDR=fd00::1 and MASTER_PORT=29500"},
      {"an URL in MASTER_ADDR", "env://", changed(plain, {{"MASTER_ADDR", "tcp://node7:29500"}}),
       "MASTER_ADDR=tcp://node7:29500 is more than a host; write the host alone, and its port into MASTER_PORT"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK_THAT(meaning_of(row.init_method, row.variables), ContainsSubstring(row.meaning));
  }
}

TEST_CASE("Slurm's compressed lists are read as it writes them", "[comm]") {
  CHECK(comm::first_host_of("a") == "a");
  CHECK(comm::first_host_of("a,b") == "a");
  CHECK(comm::first_host_of("node[007-009,12],other") == "node007");
  CHECK(comm::first_host_of("rack[2-3]node[4,7]-ib,x") == "rack2node4-ib");
  for (const char* wrong : {"", ",a", "a[", "a[]", "a]", "a[-1]"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(comm::first_host_of(wrong), FormatError);
  }
  const std::vector<int> expected = {2, 2, 2, 1, 4, 4};
  for (int node = 0; node < 6; ++node) CHECK(comm::tasks_of_node("2(x3),1,4(x2)", node) == expected[node]);
  for (const char* wrong : {"", "x", "2(x", "2(x3", "0", "2(x0)", "2,"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(comm::tasks_of_node(wrong, 5), FormatError);
  }
}

TEST_CASE("the generation follows the launcher's count of restarts", "[comm]") {
  const auto generation_of = [](const Variables& variables) {
    return comm::read_membership("env://", {}, lookup_in(with_master(variables))).generation;
  };
  const Variables plain{{"RANK", "0"}, {"WORLD_SIZE", "2"}};
  CHECK(generation_of(plain) == 0);
  CHECK(generation_of(changed(plain, {{"TORCHELASTIC_RESTART_COUNT", "3"}})) == 3);
  CHECK(generation_of(changed(kSlurm, {{"SLURM_RESTART_COUNT", "2"}})) == 2);
  CHECK(generation_of(changed(plain, {{"TORCHELASTIC_RESTART_COUNT", "0"}, {"SLURM_RESTART_COUNT", "2"}})) == 0);
  CHECK(generation_of(changed(plain, {{"TORCHELASTIC_RESTART_COUNT", "3"}, {"LOCKSTEP_GENERATION", "7"}})) == 7);
  CHECK_THROWS_WITH(generation_of(changed(plain, {{"SLURM_RESTART_COUNT", "x"}})),
                    ContainsSubstring("SLURM_RESTART_COUNT=x"));
}
