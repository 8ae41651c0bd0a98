// File: route.h
//
// Where a topic is: at this one broker, in one queue with the number 0.
//
//   route.AnswerQuery(request, &response);
//
// The address that is given out is the one the client asked at, so that it
// holds through NAT and container networks as well.
//
// Threads: any; it does not change.
//
// Serves promise 4: an unknown topic is named, not swallowed.
#ifndef HOURGLASS_BROKER_FRONT_ROUTE_H_
#define HOURGLASS_BROKER_FRONT_ROUTE_H_

#include <string>

#include "broker/front/front_options.h"
#include "broker/front/topics.h"

namespace hourglass {

class Route {
 public:
  // `host` and `port`: for a client that did not say where it asked.
  Route(const FrontOptions& options, const Topics* topics, std::string host,
        int port);

  void AnswerQuery(const proto::QueryRouteRequest& request,
                   proto::QueryRouteResponse* response) const;
  // A push consumer polls one queue, -1: that is all of them.
  void AnswerAssignment(const proto::QueryAssignmentRequest& request,
                        proto::QueryAssignmentResponse* response) const;

 private:
  proto::MessageQueue Queue(const proto::Resource& topic,
                            const proto::Endpoints& asked_at, int id) const;
  Verdict Check(const proto::Resource& topic) const;

  const FrontOptions options_;
  const Topics* const topics_;
  proto::Endpoints own_;
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_FRONT_ROUTE_H_
