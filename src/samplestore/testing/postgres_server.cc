#include "samplestore/testing/postgres_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"

namespace assay::samplestore::testing {
namespace {

constexpr uid_t kNobody = 65534;
constexpr char kUser[] = "assay_test";

std::string FolderOfPrograms() {
  std::vector<std::string> folders = Split(std::getenv("PATH") == nullptr ? "" : std::getenv("PATH"), ':');
  std::error_code error;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
    folders.push_back(version.path().string() + "/bin");
  }
  for (const std::string& folder : folders) {
    if (FileExists(folder + "/initdb") && FileExists(folder + "/postgres")) {
      return folder;
    }
  }
  return "";
}

/// Of `argv`, as somebody whom PostgreSQL takes, until this program ends.
std::vector<std::string> Unprivileged(std::vector<std::string> argv) {
  std::vector<std::string> command = {"setpriv", "--pdeathsig", "INT"};
  if (::geteuid() == 0) {
    command.insert(command.end(),
                   {"--reuid", std::to_string(kNobody), "--regid", std::to_string(kNobody), "--clear-groups"});
  }
  command.insert(command.end(), argv.begin(), argv.end());
  return command;
}

/// Below those that the system gives to connections: one of these could have it while the server is away.
int FreePort() {
  constexpr int kLowest = 10'000;
  constexpr int kHighest = 32'767;
  std::random_device random;
  for (std::uniform_int_distribution ports(kLowest, kHighest); true;) {
    const int port = ports(random);
    const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_free = ::bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    ::close(probe);
    if (is_free) {
      return port;
    }
  }
}

}  // namespace

Result<std::unique_ptr<PostgresServer>> PostgresServer::Start() {
  const std::string programs = FolderOfPrograms();
  if (programs.empty()) {
    return Status::NotFound("there is no initdb in PATH or /usr/lib/postgresql (install tools/apt-postgres.txt)");
  }
  ASSAY_ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::Create("postgres"));
  std::unique_ptr<PostgresServer> server(new PostgresServer(std::move(folder), programs));
  ASSAY_RETURN_IF_ERROR(server->MakeCluster());
  server->port_ = FreePort();
  ASSAY_RETURN_IF_ERROR(server->Run());
  return server;
}

Status PostgresServer::MakeCluster() const {
  if (::geteuid() == 0 && ::chown(folder_.path().c_str(), kNobody, kNobody) != 0) {
    return ErrnoStatus(errno, "give away", folder_.path());
  }
  std::string output;
  SubprocessOptions options;
  options.argv = Unprivileged({programs_ + "/initdb", "-D", folder_.path() + "/data", "-U", kUser, "--auth=trust",
                               "--encoding=UTF8", "--locale=C", "--no-sync"});
  options.working_directory = folder_.path();
  options.on_stderr_line = [&](std::string_view line) { output += fmt::format("{}; ", line); };
  ASSAY_ASSIGN_OR_RETURN(Subprocess initdb, Subprocess::Start(std::move(options)));
  ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, initdb.Wait());
  return end.exited && end.exit_code == 0
             ? Status::Ok()
             : Status::Internal(fmt::format("initdb ended with {}: {}", end.Describe(), output));
}

Status PostgresServer::Run() {
  SubprocessOptions options;
  options.argv = Unprivileged({programs_ + "/postgres", "-D", folder_.path() + "/data", "-k", folder_.path(), "-h",
                               "127.0.0.1", "-p", std::to_string(port_), "-c", "fsync=off", "-c",
                               "logging_collector=on", "-c", "dynamic_shared_memory_type=mmap"});
  options.working_directory = folder_.path();
  ASSAY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(std::move(options)));
  process_ = std::make_unique<Subprocess>(std::move(process));
  return WaitUntilItAnswers();
}

Status PostgresServer::WaitUntilItAnswers() const {
  constexpr double kLongest = 300;
  const double start = MonotonicSeconds();
  while (PQping(url_of_database().c_str()) != PQPING_OK) {
    if (MonotonicSeconds() - start > kLongest) {
      return Status::Internal(fmt::format("postgres does not answer on port {}", port_));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return Status::Ok();
}

Status PostgresServer::Stop(bool crash) {
  process_->Kill(crash ? SIGQUIT : SIGINT);
  const Status status = process_->Wait().status();
  process_.reset();
  return status;
}

Status PostgresServer::Restart() {
  return Run();
}

PostgresServer::~PostgresServer() {
  if (process_) {
    static_cast<void>(Stop());
  }
}

std::string PostgresServer::url_of_database() const {
  return fmt::format("postgresql://{}@127.0.0.1:{}/postgres", kUser, port_);
}

std::string PostgresServer::Url(const std::string& schema) const {
  return fmt::format("{}?schema={}", url_of_database(), schema);
}

PostgresServer& SharedPostgres() {
  static const std::unique_ptr<PostgresServer> server = [] {
    auto started = PostgresServer::Start();
    if (!started.ok()) {
      fmt::print(stderr, "no PostgreSQL server for the tests: {}\n", started.status().message());
      std::exit(1);
    }
    return *std::move(started);
  }();
  return *server;
}

}  // namespace assay::samplestore::testing
