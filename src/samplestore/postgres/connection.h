// A PostgreSQL store as a Connection, which stands again after the server was away.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "samplestore/postgres/session.h"
#include "samplestore/sample_store.h"
#include "samplestore/sql/connection.h"

namespace assay::samplestore {

class PostgresConnection : public Connection {
 public:
  static Result<std::unique_ptr<PostgresConnection>> Open(PostgresAddress address, StoreAccess access,
                                                          StoreOptions options);

  const std::string& name() const override { return address_.name; }
  const PostgresAddress& address() const { return address_; }
  SchemaWords words() const override;
  Status Execute(const std::string& sql) override { return session_->Execute(sql); }
  Result<StatementPtr> Prepare(const std::string& sql) override;
  Result<bool> TableExists(std::string_view table) override;
  Status Begin() override;
  Status Lock(std::string_view lock) override;
  Result<StoreTime> Now() override;
  Result<int64_t> Settled() override;
  Result<bool> MayTryAgain() override;
  void Done() override { conflicts_ = 0; }

 private:
  PostgresConnection(PostgresAddress address, StoreAccess access, StoreOptions options);
  Status Connect();
  Result<bool> WaitForServer();
  void Tell(const std::string& text) const;

  PostgresAddress address_;
  StoreAccess access_;
  StoreOptions options_;
  std::unique_ptr<PostgresSession> session_;
  std::map<std::string, std::string> prepared_;  ///< name by text, of this session
  int conflicts_ = 0;                            ///< one after another
};

}  // namespace assay::samplestore
