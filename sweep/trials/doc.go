package trials
