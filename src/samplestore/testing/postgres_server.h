// A real PostgreSQL server on this machine, for tests.
#pragma once

#include <memory>
#include <string>

#include "base/files.h"
#include "base/status.h"
#include "base/subprocess.h"

namespace assay::samplestore::testing {

/// Runs as an unprivileged user where this program is root, whom PostgreSQL refuses, on a free port of 127.0.0.1, with
/// its data in a temporary folder. It ends with the thread that started it, whatever ended that.
class PostgresServer {
 public:
  /// Takes seconds. The programs are looked for in PATH and where Debian has them (tools/apt-postgres.txt).
  static Result<std::unique_ptr<PostgresServer>> Start();
  ~PostgresServer();

  /// Of a store in a schema of that name.
  std::string Url(const std::string& schema) const;
  std::string url_of_database() const;
  int port() const { return port_; }

  /// Ends the sessions at once and the server with them; or, as a crash of its machine would, without a word.
  Status Stop(bool crash = false);
  /// Again, on the same port, with the same data. It ends with the thread that calls this.
  Status Restart();

 private:
  PostgresServer(TemporaryDirectory folder, std::string programs) : folder_(std::move(folder)), programs_(programs) {}
  Status MakeCluster() const;
  Status Run();
  Status WaitUntilItAnswers() const;

  TemporaryDirectory folder_;
  std::string programs_;  ///< folder of initdb and postgres
  int port_ = 0;
  std::unique_ptr<Subprocess> process_;
};

/// One for all tests of this program, started when it is first asked for. Ends the program, with a word, where there is
/// none to be had.
PostgresServer& SharedPostgres();

}  // namespace assay::samplestore::testing
