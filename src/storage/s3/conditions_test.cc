// Conditions of writes on stores that speak S3's language and do not all keep them.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "http/server.h"
#include "storage/conformance.h"
#include "storage/open.h"

namespace assay::storage {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Objects of a bucket, and which conditions are only taken, not kept.
class Kin {
 public:
  std::set<std::string> ignored{};  ///< "put", "complete", "copy"
  std::string denied{};             ///< the method that is refused for objects of probes
  bool copies_denied = false;       ///< of objects of probes
  int lost_answers = 0;             ///< of copies, once they were made
  int refused_status = 0;           ///< of writes under a condition that does not hold; 0: what S3 answers
  std::string refused_body{};

  explicit Kin(const std::string& conditional = "auto") {
    auto server = http::Server::Start({}, http::WholeBody(
                                              [this](const http::RequestHead& head, std::string_view body) {
                                                const std::lock_guard lock(mutex_);
                                                return Answer(head, body);
                                              },
                                              kMiB));
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
    StoreOptions options;
    options.endpoint = server_->url();
    options.region = "us-east-1";
    options.anonymous = true;
    options.max_attempts = 2;
    options.part_bytes = 5 << 20;
    options.own["conditional_writes"] = conditional;
    auto opened = OpenStore("s3://b/", options);
    EXPECT_THAT(opened.status(), IsOk());
    store_ = opened->store;
  }

  ObjectStore& store() { return *store_; }
  Status Write(const std::string& key, const std::string& content, const WriteOptions& options) {
    const Bytes buffers[] = {AsBytes(content)};
    return store_->Write(key, buffers, options).status();
  }
  Status Stream(const std::string& key, const std::string& content, const WriteOptions& options) {
    const auto writer = store_->OpenWriter(key, options);
    EXPECT_THAT(writer.status(), IsOk());
    const Status written = (*writer)->Write(AsBytes(content));
    return written.ok() ? (*writer)->Commit().status() : written;
  }
  /// Methods and keys of what was asked so far, with "-probe" for the rest of a probe's key.
  std::vector<std::string> TakeRequests() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }
  std::map<std::string, std::string> contents() {
    const std::lock_guard lock(mutex_);
    std::map<std::string, std::string> contents;
    for (const auto& [key, object] : objects_) {
      contents[key] = object.content;
    }
    return contents;
  }

 private:
  struct Object {
    std::string content;
    std::string etag;
    std::string token;
  };

  static std::string KeyOf(const std::string& target) {
    const std::string path = target.substr(0, target.find('?'));
    return path.size() > 3 ? path.substr(3) : "";
  }

  bool IsRefused(const http::RequestHead& head, const std::string& key, const std::string& way) const {
    const auto standing = objects_.find(key);
    const auto match = head.headers.Find("if-match");
    const bool fails = (head.headers.Has("if-none-match") && standing != objects_.end()) ||
                       (match && (standing == objects_.end() || *match != '"' + standing->second.etag + '"'));
    return fails && !ignored.contains(way);
  }

  http::ServerResponse Store(const http::RequestHead& head, const std::string& key, std::string content,
                             const std::string& way, const std::string& token) {
    if (refused_status != 0 && (head.headers.Has("if-none-match") || head.headers.Has("if-match"))) {
      return http::TextResponse(refused_status, refused_body);
    }
    if (IsRefused(head, key, way)) {
      return http::TextResponse(412, "<Error><Code>PreconditionFailed</Code></Error>");
    }
    objects_[key] = {std::move(content), std::to_string(++etags_), token};
    const std::string etag = '"' + objects_[key].etag + '"';
    const std::string root = way == "copy" ? "CopyObjectResult" : "CompleteMultipartUploadResult";
    http::ServerResponse answer =
        http::TextResponse(200, way == "put" ? "" : "<" + root + "><ETag>" + etag + "</ETag></" + root + ">");
    answer.headers.Add("ETag", etag);
    return answer;
  }

  http::ServerResponse Answer(const http::RequestHead& head, std::string_view body) {
    const std::string key = KeyOf(head.target);
    const size_t probe = key.find(".assay-condition-probe-");
    requests_.push_back(head.method + " " + (probe == std::string::npos ? key : key.substr(0, probe) + "-probe"));
    if (probe != std::string::npos && head.method == denied) {
      return http::TextResponse(403, "<Error><Code>AccessDenied</Code></Error>");
    }
    const std::string token(head.headers.Find("x-amz-meta-assay-write-token").value_or(""));
    const auto from = head.headers.Find("x-amz-copy-source");
    const bool of_upload = head.target.find("uploadId=") != std::string::npos;
    if (copies_denied && from && probe != std::string::npos) {
      return http::TextResponse(403, "<Error><Code>AccessDenied</Code></Error>");
    }
    if (head.method == "PUT" && from && !of_upload) {
      http::ServerResponse answer = Store(head, key, objects_[KeyOf(std::string(*from))].content, "copy", token);
      if (answer.status == 200 && probe == std::string::npos && lost_answers-- > 0) {
        answer.cut = http::CutKind::kReset;
      }
      return answer;
    }
    if (head.method == "PUT" && !of_upload) {
      return Store(head, key, std::string(body), "put", token);
    }
    if (head.method == "PUT") {
      uploaded_ = body;
      http::ServerResponse answer = http::TextResponse(200, "");
      answer.headers.Add("ETag", "\"part\"");
      return answer;
    }
    if (head.method == "POST" && of_upload) {
      return Store(head, key, uploaded_, "complete", upload_token_);
    }
    if (head.method == "POST") {
      upload_token_ = token;
      return http::TextResponse(
          200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
    }
    return head.method == "DELETE" ? Remove(key, of_upload) : Get(key);
  }

  http::ServerResponse Remove(const std::string& key, bool of_upload) {
    if (!of_upload) {
      objects_.erase(key);
    }
    return http::TextResponse(204, "");
  }

  http::ServerResponse Get(const std::string& key) {
    const auto found = objects_.find(key);
    if (found == objects_.end()) {
      return http::TextResponse(404, "");
    }
    http::ServerResponse answer;
    answer.body.push_back(http::BodyPiece::Text(found->second.content));
    answer.headers.Add("ETag", '"' + found->second.etag + '"');
    answer.headers.Add("x-amz-meta-assay-write-token", found->second.token);
    return answer;
  }

  std::mutex mutex_;
  // Guarded by mutex_ once requests come.
  std::map<std::string, Object> objects_;
  std::vector<std::string> requests_;
  std::string uploaded_;
  std::string upload_token_;
  int etags_ = 0;
  std::unique_ptr<http::Server> server_;
  std::shared_ptr<ObjectStore> store_;
};

WriteOptions Absent() {
  WriteOptions options;
  options.condition.kind = WriteCondition::Kind::kAbsent;
  return options;
}

WriteOptions Matches(const std::string& etag) {
  WriteOptions options;
  options.condition = {.kind = WriteCondition::Kind::kMatches, .etag = etag};
  return options;
}

TEST(S3Conditions, AreTriedOnceEachKind) {
  Kin kin;
  EXPECT_THAT(kin.Write("d/k", "first", Absent()), IsOk());
  const std::vector<std::string> trial = {"PUT d/-probe", "PUT d/-probe", "HEAD d/-probe", "DELETE d/-probe",
                                          "PUT d/k"};
  EXPECT_EQ(kin.TakeRequests(), trial);
  // What is refused is asked whether it is what this very write left.
  EXPECT_THAT(kin.Write("d/k", "second", Absent()), HasCode(ErrorCode::kFailedPrecondition));
  EXPECT_THAT(kin.TakeRequests(), ElementsAre("PUT d/k", "HEAD d/k"));
  EXPECT_THAT(kin.Write("d/k", "third", Matches("other")), HasCode(ErrorCode::kFailedPrecondition));
  std::vector<std::string> refused = trial;
  refused.push_back("HEAD d/k");
  EXPECT_EQ(kin.TakeRequests(), refused);
  EXPECT_THAT(kin.Write("plain", "", {}), IsOk());
  EXPECT_THAT(kin.TakeRequests(), ElementsAre("PUT plain"));
  EXPECT_THAT(kin.contents(), ElementsAre(testing::Pair("d/k", "first"), testing::Pair("plain", "")));
}

TEST(S3Conditions, AreRefusedWhereTheStoreWouldOverwrite) {
  Kin kin;
  kin.ignored = {"put", "complete", "copy"};
  ASSERT_THAT(kin.Write("k", "standing", {}), IsOk());
  ASSERT_THAT(kin.Write("from", "other", {}), IsOk());
  const std::string large(6 << 20, 'x');
  for (const WriteOptions& options : {Absent(), Matches("other")}) {
    for (const Status& status :
         {kin.Write("k", "second", options), kin.Write("k", large, options), kin.Stream("k", "second", options),
          kin.Stream("k", large, options), kin.store().Copy("from", "k", options).status()}) {
      EXPECT_THAT(status, HasCode(ErrorCode::kUnsupported));
      EXPECT_THAT(status.message(), AllOf(HasSubstr("nothing was sent"), HasSubstr("conditional_writes")));
    }
    const std::vector<ObjectWrite> many = {{"k", AsBytes("a")}, {"l", AsBytes("b")}};
    EXPECT_THAT(kin.store().WriteMany(many, options),
                ElementsAre(HasCode(ErrorCode::kUnsupported), HasCode(ErrorCode::kUnsupported)));
  }
  EXPECT_THAT(kin.contents(), ElementsAre(testing::Pair("from", "other"), testing::Pair("k", "standing")));
  // One that asks for nothing is written all the same.
  const WriteOptions absent = Absent();
  const std::vector<ObjectWrite> mixed = {{"k", AsBytes("a"), &absent}, {"l", AsBytes("b")}};
  EXPECT_THAT(kin.store().WriteMany(mixed, {}), ElementsAre(HasCode(ErrorCode::kUnsupported), IsOk()));
  EXPECT_EQ(kin.contents().at("l"), "b");
}

TEST(S3Conditions, ACopyGoesAnotherWayWhereOnlyCopiesIgnoreThem) {
  Kin kin;
  kin.ignored = {"copy"};
  ASSERT_THAT(kin.Write("from", "content", {}), IsOk());
  EXPECT_THAT(kin.store().Copy("from", "to", Absent()).status(), IsOk());
  EXPECT_THAT(kin.store().Copy("from", "to", Absent()).status(), HasCode(ErrorCode::kFailedPrecondition));
  EXPECT_EQ(kin.contents()["to"], "content");
}

TEST(S3Conditions, AreNotTriedWhereTheOptionSaysHowItIs) {
  Kin trusted("yes");
  EXPECT_THAT(trusted.Write("k", "first", Absent()), IsOk());
  EXPECT_THAT(trusted.TakeRequests(), ElementsAre("PUT k"));
  Kin distrusted("no");
  EXPECT_FALSE(distrusted.store().capabilities().conditional_create);
  EXPECT_THAT(distrusted.Write("k", "first", Absent()), HasCode(ErrorCode::kUnsupported));
  EXPECT_THAT(distrusted.store().OpenWriter("k", Absent()).status(), HasCode(ErrorCode::kUnsupported));
  EXPECT_TRUE(distrusted.TakeRequests().empty());
}

TEST(S3Conditions, ATrialThatCannotBeMadeIsAnError) {
  Kin denied;
  denied.denied = "PUT";
  const Status status = denied.Write("k", "first", Absent());
  EXPECT_THAT(status, HasCode(ErrorCode::kPermissionDenied));
  EXPECT_THAT(status.message(), AllOf(HasSubstr("cannot create s3://b/k: whether the store keeps conditions"),
                                      HasSubstr("conditional_writes"), HasSubstr("AccessDenied")));
  EXPECT_THAT(denied.TakeRequests(), Not(Contains("PUT k")));
  Kin undeletable;
  undeletable.denied = "DELETE";
  EXPECT_THAT(undeletable.Write("k", "first", Absent()).message(), HasSubstr(".assay-condition-probe-"));
  EXPECT_THAT(undeletable.TakeRequests(), Not(Contains("PUT k")));
}

TEST(S3Conditions, AnObjectOfATrialThatStaysIsToldOnce) {
  Kin kin;
  kin.denied = "DELETE";
  EXPECT_FALSE(kin.Write("k", "first", Absent()).ok());
  kin.TakeRequests();
  EXPECT_THAT(kin.Write("k", "first", Absent()), IsOk());
  EXPECT_THAT(kin.TakeRequests(), ElementsAre("PUT k"));
}

TEST(S3Conditions, ObjectsOfTrialsThatStayAreToldOfEachKindAndWay) {
  Kin kin;
  ASSERT_THAT(kin.Write("from", "content", {}), IsOk());
  kin.denied = "DELETE";
  const std::string large(6 << 20, 'x');
  for (const Status& status :
       {kin.Write("k", "first", Absent()), kin.Write("k", large, Absent()), kin.Write("k", "first", Matches("other")),
        kin.store().Copy("from", "to", Absent()).status()}) {
    EXPECT_THAT(status.message(), HasSubstr("cannot remove s3://b/.assay-condition-probe-"));
  }
  EXPECT_EQ(kin.contents().size(), 5u) << "what was copied from, and one object a trial";
  EXPECT_THAT(kin.store().Copy("from", "to", Absent()).status(), IsOk());
}

TEST(S3Conditions, WhatTheTrialOfACopyLeavesIsToldWithWhatThatOfTheOtherWayLeaves) {
  for (const bool copies_denied : {false, true}) {
    Kin kin;
    ASSERT_THAT(kin.Write("from", "content", {}), IsOk());
    kin.denied = "DELETE";
    kin.copies_denied = copies_denied;
    const std::string message = kin.store().Copy("from", "to", Absent()).status().message();
    auto left = kin.contents();
    EXPECT_EQ(left.erase("from"), 1u);
    EXPECT_EQ(left.size(), 2u) << "one object a trial";
    for (const auto& [key, content] : left) {
      EXPECT_THAT(message, HasSubstr("cannot remove s3://b/" + key));
    }
  }
}

TEST(S3Conditions, CopiesThatMayNotBeTriedAreTriedOnce) {
  Kin kin;
  ASSERT_THAT(kin.Write("from", "content", {}), IsOk());
  kin.copies_denied = true;
  EXPECT_THAT(kin.store().Copy("from", "to", Absent()).status(), IsOk());
  EXPECT_THAT(kin.TakeRequests(), Contains("PUT -probe"));
  EXPECT_THAT(kin.store().Copy("from", "beside", Absent()).status(), IsOk());
  EXPECT_THAT(kin.TakeRequests(), Not(Contains(HasSubstr("-probe"))));
  EXPECT_EQ(kin.contents()["beside"], "content");
}

TEST(S3Conditions, CopiesAreTriedAgainWhereTheTrialWasRefusedBeforeTheCopy) {
  Kin kin;
  ASSERT_THAT(kin.Write("from", "content", {}), IsOk());
  kin.denied = "PUT";
  EXPECT_THAT(kin.store().Copy("from", "to", Absent()).status(), HasCode(ErrorCode::kPermissionDenied));
  kin.denied = "";
  EXPECT_THAT(kin.store().Copy("from", "to", Absent()).status(), IsOk());
  kin.TakeRequests();
  EXPECT_THAT(kin.store().Copy("from", "beside", Absent()).status(), IsOk());
  EXPECT_THAT(kin.TakeRequests(), ElementsAre("HEAD from", "PUT beside", "HEAD beside")) << "no read";
}

TEST(S3Conditions, ATrialThatFailsNamesWhatItCouldNotRemove) {
  Kin kin;
  kin.denied = "DELETE";
  kin.refused_status = 409;
  kin.refused_body = "<Error><Code>OperationAborted</Code></Error>";
  const Status status = kin.Write("k", "first", Absent());
  EXPECT_THAT(status.message(), AllOf(HasSubstr("OperationAborted"),
                                      HasSubstr("may stay: cannot remove s3://b/.assay-condition-probe-")));
}

TEST(S3Conditions, AreNotTakenForKeptWhereTheTrialFailsForAnotherReason) {
  const std::pair<int, std::string> answers[] = {
      {409, "<Error><Code>OperationAborted</Code></Error>"},
      {403, "<Error><Code>InvalidObjectState</Code></Error>"},
      {400, "<Error><Code>InvalidPart</Code></Error>"},
      {400, "<Error><Code>InvalidRequest</Code><Message>x-amz-checksum-type is not known</Message></Error>"}};
  for (const auto& [status, body] : answers) {
    Kin kin;
    ASSERT_THAT(kin.Write("k", "standing", {}), IsOk());
    kin.refused_status = status;
    kin.refused_body = body;
    EXPECT_THAT(kin.Write("k", "second", Absent()).message(), HasSubstr("could not be tried"));
    kin.refused_status = 0;
    kin.ignored = {"put", "complete", "copy"};
    EXPECT_THAT(kin.Write("k", "third", Absent()), HasCode(ErrorCode::kUnsupported));
    EXPECT_THAT(kin.contents(), ElementsAre(testing::Pair("k", "standing")));
  }
}

TEST(S3Conditions, AreNotKeptWhereTheStoreSaysThatItDoesNotKnowThem) {
  const std::pair<int, std::string> answers[] = {
      {501, ""}, {400, "<Error><Code>InvalidArgument</Code><Message>If-None-Match is not known</Message></Error>"}};
  for (const auto& [status, body] : answers) {
    Kin kin;
    kin.refused_status = status;
    kin.refused_body = body;
    EXPECT_THAT(kin.Write("k", "first", Absent()), HasCode(ErrorCode::kUnsupported));
    EXPECT_TRUE(kin.contents().empty());
  }
}

TEST(S3Conditions, SmallObjectsDoNotNeedThemOnParts) {
  Kin kin;
  kin.ignored = {"complete"};
  const std::vector<ObjectWrite> many = {{"k", AsBytes("a")}, {"l", AsBytes("b")}};
  EXPECT_THAT(kin.store().WriteMany(many, Absent()), ElementsAre(IsOk(), IsOk()));
  EXPECT_THAT(kin.Stream("m", "c", Absent()), IsOk());
  EXPECT_THAT(kin.Stream("n", std::string(6 << 20, 'x'), Absent()), HasCode(ErrorCode::kUnsupported));
  EXPECT_FALSE(kin.contents().contains("n"));
}

TEST(S3Conditions, ALostAnswerOfACopyIsOurs) {
  Kin kin("yes");
  ASSERT_THAT(kin.Write("from", "content", {}), IsOk());
  ASSERT_THAT(kin.Write("k", "old", {}), IsOk());
  kin.lost_answers = 1;
  EXPECT_THAT(kin.store().Copy("from", "to", Absent()).status(), IsOk());
  EXPECT_THAT(kin.store().Copy("from", "to", Absent()).status(), HasCode(ErrorCode::kFailedPrecondition));
  kin.lost_answers = 1;
  const auto standing = kin.store().Stat("k");
  ASSERT_TRUE(standing.ok() && standing->has_value());
  EXPECT_THAT(kin.store().Copy("from", "k", Matches((*standing)->etag)).status(), IsOk());
}

}  // namespace
}  // namespace assay::storage
