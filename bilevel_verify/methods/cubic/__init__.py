"""Second-order methods: cubic-regularised Newton steps, exact or by products, fresh or lazy."""
