"""Line against line: the pseudo-code of every named method, run on examples, and a solver's run compared with it."""
