// Where a PostgreSQL store is.
#pragma once

#include <string>

#include "base/status.h"

namespace assay::samplestore {

struct PostgresAddress {
  std::string connection;  ///< as libpq reads it
  std::string schema;      ///< in which the store's tables stand: several stores may share a database
  std::string name;        ///< for messages, without a password: "postgresql://user@host:5432/database?schema=assay"
  std::string file_name;   ///< the same as part of a file's name
};

/// Reads "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&sslmode=require": all but `schema` is libpq's,
/// which also looks into its environment variables and password file.
Result<PostgresAddress> ParsePostgresUrl(const std::string& url);

/// "a \"b" as SQL writes a name: "\"a \"\"b\"".
std::string QuotedName(const std::string& name);

}  // namespace assay::samplestore
